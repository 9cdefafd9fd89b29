import type { Core } from '../core.ts';
import type { DeviceMachines } from './device-machine.ts';
import type { Device, Timer } from '../state/state.ts';
import { move, note } from './device-record.ts';
import { PROVISIONING_STEPS } from '../time/timings.ts';

/** The way of a new device from `queued` to `active` or `failed`. */
export interface Provisioning {
  start(device: Device): void;
  /** A fault may have decided how the provisioning that is going on will end. */
  condemn(device: Device): void;
  /** Runs a due timer of the device; answers false when it is not one of a provisioning. */
  run(kind: Timer['kind'], device: Device): boolean;
  /** After a restart: an end that was due while the machine was being asked is due again. */
  resume(device: Device): void;
}

export function createProvisioning(core: Core, machines: DeviceMachines): Provisioning {
  const { scheduler, timings } = core;

  const reached = (device: Device, code: string) => {
    const step = device.steps.find((one) => one.code === code);
    if (step) step.eventId = note(core, device, `provisioning.${code}`, step.body).id;
  };
  const activate = (device: Device) =>
    machines.whenAssigned(device, () => {
      if (!isInstalling(device)) return;
      move(core, device, 'active');
      machines.up(device);
    });
  const scheduleProgress = (device: Device) => {
    const endMs = device.doom?.kind === 'fail' ? timings.failMs : Infinity;
    for (const step of PROVISIONING_STEPS) {
      if (typeof step.at !== 'number' || step.at === 0 || step.at === 1) continue;
      const delayMs = timings.queuedMs + step.at * timings.provisioningMs;
      if (delayMs < endMs) scheduler.add(`progress-${step.code}`, device.id, delayMs);
    }
  };
  const scheduleEnd = (device: Device) => {
    if (device.doom?.kind === 'stuck') return;
    if (device.doom?.kind === 'fail') scheduler.add('fail', device.id, timings.failMs);
    else scheduler.add('installed', device.id, timings.queuedMs + timings.provisioningMs);
  };

  const due: Partial<Record<Timer['kind'], (device: Device) => void>> = {
    'start-provisioning': (device) => {
      move(core, device, 'provisioning');
      reached(device, '101');
    },
    'assign-addresses': (device) => {
      machines.assign(device);
      reached(device, '102');
    },
    installed: (device) => {
      reached(device, '110');
      if (timings.postProvisioningMs === 0) {
        activate(device);
      } else {
        move(core, device, 'post_provisioning');
        scheduler.add('activate', device.id, timings.postProvisioningMs);
      }
    },
    activate,
    fail: (device) => {
      scheduler.cancel(device.id);
      const reason = device.doom?.kind === 'fail' ? device.doom.reason : 'unknown';
      note(core, device, 'provisioning.failed', `Provisioning failed: ${reason}`);
      move(core, device, 'failed');
    },
  };

  return {
    start: (device) => {
      device.doom = core.doomOf(device);
      device.steps = stepsOf(device);
      note(core, device, 'device.created', 'Device created');
      scheduler.add('start-provisioning', device.id, timings.queuedMs);
      scheduler.add('assign-addresses', device.id, timings.addressesMs);
      scheduleProgress(device);
      scheduleEnd(device);
      core.changed({ kind: 'device', id: device.id, from: null, to: 'queued' });
    },
    condemn: (device) => {
      if (device.state !== 'queued' && !isInstalling(device)) return;
      const doom = core.doomOf(device);
      if (!doom) return;
      device.doom = doom;
      scheduler.cancel(device.id, ['installed', 'activate', 'fail']);
      const leftMs = device.createdAtMs + timings.failMs - core.now();
      if (doom.kind === 'fail') scheduler.add('fail', device.id, Math.max(0, leftMs));
    },
    run: (kind, device) => {
      if (kind.startsWith('progress-')) reached(device, kind.slice('progress-'.length));
      else due[kind]?.(device);
      return kind.startsWith('progress-') || due[kind] !== undefined;
    },
    resume: (device) => {
      if (isInstalling(device) && device.doom === null && !scheduler.has(device.id)) {
        scheduler.add('activate', device.id, 0);
      }
    },
  };
}

const isInstalling = ({ state }: Device) =>
  state === 'provisioning' || state === 'post_provisioning';

function stepsOf(device: Device): Device['steps'] {
  const networkBoot = device.alwaysPxe || device.operatingSystem === 'custom_ipxe';
  return PROVISIONING_STEPS.filter((step) => networkBoot || !('networkBoot' in step)).map(
    ({ code, body }) => ({ code, body, eventId: null }),
  );
}
