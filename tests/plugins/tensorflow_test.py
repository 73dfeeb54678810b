#!/usr/bin/python3 -B
"""Tests TensorFlow, which reads the members of its cluster from TF_CONFIG, which the plugin tensorflow writes."""

import json

import harness
import manifests
import pods

PYTHON = str(harness.CACHE / "tensorflow" / "bin" / "python")
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "2", "CUDA_VISIBLE_DEVICES": ""}
# Reads each of the texts in its first argument as TF_CONFIG.
RESOLVE = """
import json, os, sys
import tensorflow as tf
resolved = {}
for pod, config in json.loads(sys.argv[1]).items():
    os.environ["TF_CONFIG"] = config
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    resolved[pod] = [resolver.cluster_spec().as_dict(), resolver.task_type, resolver.task_id]
print(json.dumps(resolved))
"""
# Runs the step of synchronous training without a model: a sum over all replicas.
REDUCE = """
import os
import tensorflow as tf
strategy = tf.distribute.MultiWorkerMirroredStrategy()

@tf.function
def reduced():
    def replica():
        context = tf.distribute.get_replica_context()
        return context.all_reduce(tf.distribute.ReduceOp.SUM, 10 ** context.replica_id_in_sync_group)
    return strategy.run(replica)

total = strategy.experimental_local_results(reduced())[0].numpy()
print(f"{strategy.num_replicas_in_sync} replicas, {os.uname().nodename}: {total}", flush=True)
"""


class Tensorflow(harness.TestCase):
    wheels = "tensorflow"

    def test_the_resolver_understands_every_pod(self):
        replicas = {"ps": 2, "worker": 2, "chief": 1, "evaluator": 1, "other": 1}
        tasks = [manifests.task(name, count) for name, count in replicas.items()]
        with pods.Job(manifests.render("tf", {"tensorflow": []}, tasks), shares=[harness.CACHE]) as job:
            configs = {name: pod.env()["TF_CONFIG"] for name, pod in job.pods.items()}
            said = job.pods["tf-chief-0"].run(PYTHON, "-c", RESOLVE, json.dumps(configs), seconds=120, env=QUIET)
        cluster = {name: [f"tf-{name}-{i}.tf:2222" for i in range(count)] for name, count in replicas.items()}
        # That pod gets the cluster in TF_CONFIG but is not part of it.
        del cluster["other"]
        self.assertEqual(json.loads(said.splitlines()[-1]), {
            f"tf-{name}-{i}": [cluster, name, i] for name, count in replicas.items() for i in range(count)})

    def test_chief_and_workers_reduce(self):
        command = [PYTHON, "-c", REDUCE]
        tasks = [manifests.task("boss", 1, command, QUIET), manifests.task("worker", 2, command, QUIET),
                 manifests.task("evaluator", 1)]
        objects = manifests.render("tf", {"tensorflow": ["--chief=boss", "--port=20002"]}, tasks)
        with pods.Job(objects, shares=[harness.CACHE]) as job:
            names = ("tf-boss-0", "tf-worker-0", "tf-worker-1")
            processes = [job.pods[name].start() for name in names]
            said = [process.finish(240).splitlines()[-1] for process in processes]
            self.assertEqual(said, [f"3 replicas, {name}: 111" for name in names])


if __name__ == "__main__":
    harness.main()
