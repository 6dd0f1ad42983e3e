# tp_pjrt: client over the PJRT C API.
