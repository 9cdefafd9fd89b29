"""Uses OpenStack's sushy with each BMC, and prints what it saw as JSON."""

import json
import os
import sys
import time

import sushy
from sushy import auth, exceptions

IMAGE = "https://images.test/installer.iso"


def until(system, state):
    for _ in range(1000):
        system.refresh(force=True)
        if system.power_state.value == state:
            return system.power_state.value
        time.sleep(0.02)
    return f"{state} never came"


def disc_of(system):
    """The first virtual CD of the system's manager; none when media are elsewhere."""
    for manager in system.managers:
        try:
            members = manager.virtual_media.get_members()
        except exceptions.MissingAttributeError:
            return None
        for one in members:
            if any(kind.value == "CD" for kind in one.media_types):
                return one
    return None


def media(system, login):
    disc = disc_of(system)
    if disc is None:
        return None
    disc.insert_media(IMAGE, **login)
    disc.refresh(force=True)
    inserted = [disc.inserted, disc.image]
    disc.eject_media()
    disc.refresh(force=True)
    return [inserted, [disc.inserted, disc.image]]


def refused(act):
    try:
        act()
    except exceptions.HTTPError as error:
        return error.status_code
    return "accepted"


def play(bmc):
    login = auth.SessionAuth("admin", os.environ["BMC_PASSWORD_" + bmc["name"]])
    root = sushy.Sushy(bmc["url"], auth=login, verify=bmc["ca"])
    [path] = root.get_system_collection().members_identities
    system = root.get_system(path)
    seen = {
        "path": path,
        "serial": system.serial_number,
        "uuid": system.uuid,
        "sessions": len(root.get_session_service().sessions.members_identities),
        "manager": [one.manager_type.value for one in system.managers],
        "tasks": len(root.get_task_service().tasks.members_identities),
        "resets": sorted(value.value for value in system.get_allowed_reset_system_values()),
    }
    system.set_system_boot_options(
        sushy.BOOT_SOURCE_TARGET_PXE,
        enabled=sushy.BOOT_SOURCE_ENABLED_ONCE,
        mode=sushy.BOOT_SOURCE_MODE_UEFI,
    )
    system.refresh(force=True)
    boot = system.boot
    seen["boot"] = [boot.enabled.value, boot.target.value, boot.mode.value]
    system.reset_system(sushy.RESET_ON)
    seen["on"] = until(system, "On")
    seen["again"] = refused(lambda: system._conn.post(path, data={}))
    system.reset_system(sushy.RESET_FORCE_OFF)
    seen["off"] = until(system, "Off")
    seen["media"] = media(system, bmc.get("media", {}))
    login.close()
    return seen


print(json.dumps({bmc["name"]: play(bmc) for bmc in json.loads(sys.argv[1])}))
