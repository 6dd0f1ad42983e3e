#!/bin/bash
#SBATCH --job-name=tprun
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --output=%x-%j.out
# One model on two nodes. tprun is started once, by the batch script itself; how many nodes and ranks, it reads from SLURM.
#   sbatch examples/slurm/job.sh MODEL PROMPT
# On a cluster with several networks add --interface NAME|SUBNET.
exec "${TPRUN:-tprun}" --device cpu ${TPRUN_OPTIONS:-} generate --model "$1" --prompt "$2" --max-new-tokens "${NEW_TOKENS:-40}"
