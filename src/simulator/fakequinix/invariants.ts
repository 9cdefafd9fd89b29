import type { State } from './state.ts';

/** What cannot be in a consistent world, and is. */
export function violationsOf(state: State): string[] {
  return [...reservationViolations(state), ...keyViolations(state), ...timeViolations(state)];
}

function reservationViolations({ devices, reservations }: State): string[] {
  const problems: string[] = [];
  const holders = new Map<string, string>();
  for (const device of devices.values()) {
    if (device.reservationId === null || device.state === 'deleted') continue;
    const other = holders.get(device.reservationId);
    if (other) problems.push(`two devices on reservation ${device.reservationId}`);
    holders.set(device.reservationId, device.id);
    if (reservations.get(device.reservationId)?.deviceId !== device.id) {
      problems.push(`device ${device.id} is not linked from its reservation`);
    }
  }
  for (const { id, deviceId, cleaning } of reservations.values()) {
    if (deviceId !== null && !devices.has(deviceId)) {
      problems.push(`reservation ${id} carries a device that does not exist`);
    }
    if (deviceId !== null && cleaning) problems.push(`reservation ${id} is cleaned while in use`);
  }
  return problems;
}

const keyViolations = ({ devices, sshKeys }: State): string[] =>
  [...devices.values()].flatMap((device) =>
    device.sshKeyIds
      .filter((id) => !sshKeys.has(id))
      .map((id) => `device ${device.id} has the key ${id}, which does not exist`),
  );

const timeViolations = ({ devices }: State): string[] =>
  [...devices.values()].flatMap(({ id, events }) =>
    events.some((event, i) => i > 0 && event.atMs < events[i - 1]!.atMs)
      ? [`the events of device ${id} go back in time`]
      : [],
  );
