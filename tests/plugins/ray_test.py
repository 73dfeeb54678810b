#!/usr/bin/python3 -B
"""Tests Ray with the commands of the plugin ray: a head, a worker that joins the head, and clients that use both."""

import json

import harness
import manifests
import pods

BIN = harness.CACHE / "ray" / "bin"
ENV = {
    "PATH": f"{BIN}:{pods.PATH}",
    "RAY_USAGE_STATS_ENABLED": "0",
    # The head forks a server for each client. With gRPC's fork handlers the server sometimes never starts.
    "GRPC_ENABLE_FORK_SUPPORT": "0",
    "RAY_CLIENT_SERVER_CHECK_CHANNEL_TIMEOUT_S": "120",
}
# Waits for both nodes, and runs a task on each.
CLIENT = """
import json, sys, time
import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

ray.init(sys.argv[1])
deadline = time.monotonic() + 60
while len(nodes := [node["NodeID"] for node in ray.nodes() if node["Alive"]]) < 2 and time.monotonic() < deadline:
    time.sleep(0.1)

@ray.remote
def host():
    import os
    return os.uname().nodename

on_each = [host.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False)) for node in nodes]
print(json.dumps(sorted(ray.get([task.remote() for task in on_each]))))
"""
VERSION = """
import sys, urllib.request
print(urllib.request.urlopen(sys.argv[1], timeout=30).read().decode())
"""


class Ray(harness.TestCase):
    wheels = "ray"

    def test_the_worker_joins_the_head(self):
        tasks = [manifests.task(name, 1, env=ENV, container=name) for name in ("head", "worker")]
        arguments = ["--port=7001", "--dashboardPort=7002", "--clientPort=7003"]
        with pods.Job(manifests.render("ray", {"ray": arguments}, tasks), shares=[harness.CACHE]) as job:
            head, worker = job.pods["ray-head-0"], job.pods["ray-worker-0"]
            running = head.start()
            self.assertEqual(head.ports(), {"gcs": 7001, "dashboard": 7002, "client-server": 7003})
            for port in head.ports().values():
                head.wait_for_port(port, 120, running)
            worker.start()
            # A client by the name of the Service, a client in the head itself, and the dashboard.
            for pod, address in ((worker, "ray://ray-head-svc:7003"), (head, "auto")):
                said = pod.run("python", "-c", CLIENT, address, seconds=180)
                self.assertEqual(json.loads(said.splitlines()[-1]), ["ray-head-0", "ray-worker-0"], address)
            said = worker.run("python", "-c", VERSION, "http://ray-head-svc:7002/api/version", seconds=60)
            self.assertIn("ray_version", said)


if __name__ == "__main__":
    harness.main()
