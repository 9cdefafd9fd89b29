"""Uses Apache Libcloud's driver for the API, and prints what it saw as JSON."""

import json
import os
import sys
import time

from libcloud.compute.providers import get_driver
from libcloud.compute.types import NodeState, Provider

host, port, project = sys.argv[1:4]
Driver = get_driver(Provider.EQUINIXMETAL)


class Connection(Driver.connectionCls):
    """To this computer, and without TLS."""

    def __init__(self, key, *_args, **_kwargs):
        super().__init__(key, secure=False, host=host, port=int(port))


Driver.connectionCls = Connection
driver = Driver(os.environ["EQUINIX_TOKEN"], project=project)


def until(node_id, *states):
    for _ in range(2000):
        for node in driver.list_nodes(ex_project_id=project):
            if node.id == node_id and node.state in states:
                return node
        if NodeState.TERMINATED in states and node_id not in ids():
            return None
        time.sleep(0.005)
    raise SystemExit(f"{node_id} never became one of {states}")


def ids():
    return [node.id for node in driver.list_nodes(ex_project_id=project)]


seen = {"projects": [one.name for one in driver.ex_list_projects()]}
sizes = driver.list_sizes(ex_project_id=project)
seen["sizes"] = {size.id: size.price > 0 and size.ram > 0 and size.disk > 0 for size in sizes}
images = {image.id: image.extra["distro"] for image in driver.list_images()}
seen["images"] = images
locations = {one.extra["code"]: one for one in driver.list_locations()}
seen["locations"] = sorted(locations)

key = driver.create_key_pair("libcloud", sys.argv[4])
seen["keys"] = [[one.extra["label"], one.public_key] for one in driver.list_key_pairs()]

size = next(one for one in sizes if one.id == "c3.small.x86")
image = next(one for one in driver.list_images() if one.id == "debian_12")
nodes = [
    driver.create_node(f"libcloud-{i}", size, image, locations["fr2"], ex_project_id=project)
    for i in range(12)
]
seen["created"] = sorted(set(ids()) & {node.id for node in nodes}) == sorted(ids())
node = until(nodes[0].id, NodeState.RUNNING)
seen["node"] = {
    "name": node.name,
    "size": node.size.id,
    "image": node.image.id,
    "public": len(node.public_ips),
    "private": len(node.private_ips),
}

# It takes the service's 202 for a failure: what happened is told by the state.
driver.stop_node(node)
until(node.id, NodeState.STOPPED)
driver.start_node(node)
until(node.id, NodeState.RUNNING)
driver.reboot_node(node)
driver.ex_update_node(node, description="renamed")
seen["description"] = until(node.id, NodeState.RUNNING).extra["description"]
events = driver.ex_list_events_for_node(node, per_page=100)["events"]
seen["events"] = sorted({event["type"] for event in events})

for each in nodes:
    until(each.id, NodeState.RUNNING)
    driver.destroy_node(each)
for each in nodes:
    until(each.id, NodeState.TERMINATED)
seen["deleted"] = driver.delete_key_pair(key)
while ids():
    time.sleep(0.005)
print(json.dumps(seen))
