import { lookup } from '../../../src/lib/data.ts';
import type { EquinixCore } from '../core.ts';
import type { Lifecycle } from '../life/lifecycle.ts';
import type { EquinixDevice, DeviceState } from '../state/state.ts';
import {
  type ApiRoute,
  type EquinixCall,
  invalid,
  isLeaving,
  named,
  notFound,
  readInput,
} from './call.ts';
import { create } from './create.ts';
import { expand } from './expansion.ts';
import { deviceAction, deviceUpdate, givenFields } from './inputs.ts';
import type { Lists } from './lists.ts';
import type { Views } from './views.ts';

export interface RouteDeps {
  readonly core: EquinixCore;
  readonly lifecycle: Lifecycle;
  readonly views: Views;
  readonly page: Lists;
}

/** Devices: create, read, change, delete, actions. */
export function deviceRoutes({ core, lifecycle, views, page }: RouteDeps): ApiRoute[] {
  const { state, now } = core;
  const isYoung = ({ lag }: EquinixCall, device: EquinixDevice) =>
    now() - device.createdAtMs < lag.deviceMs;
  const find = (call: EquinixCall) => {
    const device = named(core, call, state.devices);
    if (device.state === 'deleted') throw notFound();
    return device;
  };
  const show = (call: EquinixCall, device: EquinixDevice, status = 200) => ({
    ...{ status, body: expand(views.device(device, call.lag), call.query) },
  });
  const update = (call: EquinixCall) => {
    const device = find(call);
    Object.assign(device.fields, givenFields(readInput(deviceUpdate, call)));
    device.updatedAtMs = now();
    core.changed();
    return show(call, device);
  };

  return [
    {
      method: 'GET',
      path: '/projects/{id}/devices',
      handle(call) {
        const { id } = named(core, call, state.projects);
        const tag = call.query.get('tag');
        const isWanted = (one: EquinixDevice) =>
          one.projectId === id &&
          one.state !== 'deleted' &&
          !isYoung(call, one) &&
          (tag === undefined || one.fields.tags.includes(tag));
        return page(call, 'devices', {
          items: () => [...state.devices.values()].filter(isWanted),
          view: (one) => views.device(one, call.lag),
          sortValue: (one, field) => lookup({ hostname: one.fields.hostname, id: one.id }, field),
        });
      },
    },
    {
      method: 'POST',
      path: '/projects/{id}/devices',
      handle: (call) => show(call, create(core, lifecycle, call), 201),
    },
    {
      method: 'GET',
      path: '/devices/{id}',
      handle(call) {
        const device = find(call);
        if (isYoung(call, device)) throw notFound();
        return show(call, device);
      },
    },
    { method: 'PUT', path: '/devices/{id}', handle: update },
    { method: 'PATCH', path: '/devices/{id}', handle: update },
    {
      method: 'DELETE',
      path: '/devices/{id}',
      handle(call) {
        const device = find(call);
        if (isLeaving(device)) throw notFound();
        if (device.state === 'queued' || device.state === 'provisioning') {
          throw invalid('Cannot delete a device while it is provisioning');
        }
        if (device.fields.locked) throw invalid('Cannot delete a locked item');
        lifecycle.startDelete(device);
        return { status: 204 };
      },
    },
    {
      method: 'POST',
      path: '/devices/{id}/actions',
      handle(call) {
        act(core, lifecycle, find(call), call);
        return { status: 202 };
      },
    },
    {
      method: 'GET',
      path: '/devices/{id}/events',
      handle(call) {
        const device = find(call);
        return page(call, 'events', {
          items: () => views.eventsOf(device),
          view: (event) => views.event(event, device),
        });
      },
    },
  ];
}

/** States in which the service accepts each action. */
const ACTIONS: Readonly<Record<string, readonly DeviceState[]>> = {
  reboot: ['active', 'failed'],
  power_off: ['active'],
  power_on: ['inactive'],
  reinstall: ['active', 'inactive', 'failed'],
};

function act(
  { state }: EquinixCore,
  lifecycle: Lifecycle,
  device: EquinixDevice,
  call: EquinixCall,
): void {
  const { type, operating_system: system } = readInput(deviceAction, call);
  if (!ACTIONS[type]!.includes(device.state)) {
    throw invalid(`type: cannot ${type} a device while it is ${device.state}`);
  }
  if (type === 'power_off') return lifecycle.powerOff(device);
  if (type === 'power_on') return lifecycle.powerOn(device);
  if (type === 'reboot') return lifecycle.reboot(device);
  if (device.fields.locked) throw invalid('Cannot reinstall a locked item');
  const isKnown = state.catalogue.operatingSystems.some(({ slug }) => slug === system);
  if (system !== undefined && !isKnown) {
    throw invalid(`operating_system: "${system}" is not a valid operating system`);
  }
  lifecycle.reinstall(device, system);
}
