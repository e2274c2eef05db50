"""Serves a small real model on loopback, with llama.cpp's own HTTP server.

usage: serve.py MODEL.gguf PORT

Says `ready` on a line of its own once it answers, and ends with its standard input.
"""

import sys

import xllamacpp

model, port = sys.argv[1], int(sys.argv[2])
parameters = xllamacpp.CommonParams()
parameters.model.path = model
parameters.port = port
parameters.use_jinja = True
parameters.warmup = False
# One conversation at a time, with room for an agent's instructions.
parameters.n_parallel = 1
parameters.n_ctx = 8192
# As many threads as cores would spin against everything else that runs here.
parameters.cpuparams.n_threads = 1
parameters.cpuparams_batch.n_threads = 1

server = xllamacpp.Server(parameters)
print("ready", flush=True)
sys.stdin.read()
