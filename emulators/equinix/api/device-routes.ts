import { z } from 'zod';
import type { Api } from './api.ts';
import type { Device } from '../state/state.ts';
import { deviceSortValue } from './api.ts';
import { covers, deviceFor, organizationFor, projectFor } from './access.ts';
import { invalid, notFound } from './api-error.ts';
import { accepted, created, noContent, ok, readBody, type Call, type Route } from './call.ts';
import { create, editedBy, hostnameProblems } from './device-create.ts';
import { updateBody } from './inputs.ts';
import { isLeaving } from '../lifecycle/lifecycle.ts';
import { macsOf } from './network-ports.ts';

const actionBody = z.looseObject({
  type: z.string(),
  operating_system: z.string().optional(),
  ipxe_script_url: z.string().optional(),
  preserve_data: z.boolean().optional(),
  deprovision_fast: z.boolean().optional(),
});
/** Forcing is about attached volumes, of which there are none: it changes nothing. */
const deleteBody = z.looseObject({ force_delete: z.boolean().optional() });
type ActionBody = z.output<typeof actionBody>;

/** Devices: create, read, change, delete, actions. */
export function deviceRoutes(api: Api): Route[] {
  const { core, views } = api;
  const find = (call: Call) => deviceFor(core, call.caller, call.params['id']!);
  const view = (call: Call) => (device: Device) => views.device(device, call);
  const list = (call: Call, fits: (device: Device) => boolean) =>
    ok(
      api.page(call, 'devices', {
        items: () => api.listed(call, (device) => fits(device) && filter(api, call, device)),
        view: view(call),
        sortValue: deviceSortValue,
      }),
    );
  const update = (call: Call) => ok(api.show(call, view(call)(edit(api, find(call), call))));

  return [
    {
      method: 'GET',
      path: '/projects/{id}/devices',
      handle: (call) => {
        const project = projectFor(core, call.caller, call.params['id']!);
        return list(call, (device) => device.projectId === project.id);
      },
    },
    {
      method: 'GET',
      path: '/organizations/{id}/devices',
      handle: (call) => {
        const { id } = organizationFor(core, call.caller, call.params['id']!);
        return list(call, (device) => {
          const project = core.state.projects.get(device.projectId)!;
          return project.organizationId === id && covers(call.caller, project);
        });
      },
    },
    {
      method: 'POST',
      path: '/projects/{id}/devices',
      handle: (call) => created(api.show(call, view(call)(create(api, call)))),
    },
    {
      method: 'GET',
      path: '/devices/{id}',
      handle: (call) => {
        const device = find(call);
        const lagMs = call.disturbance.staleDeviceMs;
        if (lagMs > 0 && core.now() - device.createdAtMs < lagMs) throw notFound();
        return ok(api.show(call, view(call)(device)));
      },
    },
    { method: 'PUT', path: '/devices/{id}', handle: update },
    { method: 'PATCH', path: '/devices/{id}', handle: update },
    {
      method: 'DELETE',
      path: '/devices/{id}',
      handle: (call) => {
        const device = find(call);
        readBody(deleteBody, call.body);
        remove(api, device);
        return noContent;
      },
    },
    {
      method: 'POST',
      path: '/devices/{id}/actions',
      handle: (call) => {
        act(api, find(call), readBody(actionBody, call.body));
        return accepted;
      },
    },
  ];
}

function edit({ core }: Api, device: Device, call: Call): Device {
  const body = readBody(updateBody, call.body);
  const problems = hostnameProblems(body.hostname);
  if (problems.length > 0) throw invalid(...problems);
  Object.assign(device, editedBy(body), { updatedAtMs: core.now() });
  core.changed();
  return device;
}

function remove({ lifecycle }: Api, device: Device): void {
  if (isLeaving(device)) throw notFound();
  if (device.state === 'queued' || device.state === 'provisioning') {
    throw invalid('Cannot delete a device while it is provisioning');
  }
  if (device.locked) throw invalid('Cannot delete a locked item');
  lifecycle.startDelete(device);
}

/** States in which the service takes each action. */
const ACTIONS: ReadonlyMap<string, readonly Device['state'][]> = new Map([
  ['reboot', ['active', 'failed']],
  ['rescue', ['active']],
  ['power_off', ['active']],
  ['power_on', ['inactive']],
  ['reinstall', ['active', 'inactive', 'failed']],
]);

function act(api: Api, device: Device, body: ActionBody): void {
  const { lifecycle } = api;
  const states = ACTIONS.get(body.type);
  if (!states) throw invalid(`type: "${body.type}" is not a valid action`);
  if (!states.includes(device.state)) {
    throw invalid(`type: cannot ${body.type} a device while it is ${device.state}`);
  }
  if (body.type === 'power_off') lifecycle.powerOff(device);
  else if (body.type === 'power_on') lifecycle.powerOn(device);
  else if (body.type === 'reinstall') reinstall(api, device, body);
  else lifecycle.restart(device, body.type === 'rescue' ? 'rescue' : 'reboot');
}

function reinstall({ core, lifecycle }: Api, device: Device, body: ActionBody): void {
  if (device.locked) throw invalid('Cannot reinstall a locked item');
  const wanted = body.operating_system;
  const known = core.state.catalogue.operatingSystems.some((one) => one.slug === wanted);
  if (wanted !== undefined && !known) {
    throw invalid(`operating_system: "${wanted}" is not a valid operating system`);
  }
  if (body.ipxe_script_url !== undefined) {
    if ((wanted ?? device.operatingSystem) !== 'custom_ipxe') {
      throw invalid('ipxe_script_url: allowed with operating system custom_ipxe only');
    }
    device.ipxeScriptUrl = body.ipxe_script_url;
  }
  lifecycle.reinstall(device, { fast: body.deprovision_fast === true, operatingSystem: wanted });
}

function filter({ core }: Api, { query }: Call, device: Device): boolean {
  const facility = core.state.catalogue.facilities.find((one) => one.code === device.facility);
  const wants = (name: string, fits: (wanted: string) => boolean) => {
    const wanted = query.get(name);
    return wanted === undefined || wanted === '' || fits(wanted);
  };
  const contains = (text: string, part: string) => text.toLowerCase().includes(part.toLowerCase());
  return (
    wants('hostname', (wanted) => contains(device.hostname, wanted)) &&
    wants('tag', (wanted) => device.tags.includes(wanted)) &&
    wants('facility', (wanted) => wanted.split(',').includes(device.facility)) &&
    wants('metro', (wanted) => wanted.split(',').includes(facility?.metro ?? '')) &&
    wants('reserved', (wanted) => (wanted === 'true') === (device.reservationId !== null)) &&
    wants(
      'has_termination_time',
      (wanted) => (wanted === 'true') === (device.terminationTimeMs !== null),
    ) &&
    wants('mac_address', (wanted) => macsOf(device.id).includes(wanted.toLowerCase())) &&
    wants('search', (wanted) =>
      [device.hostname, device.id, device.description ?? '', ...device.tags].some((text) =>
        contains(text, wanted),
      ),
    )
  );
}
