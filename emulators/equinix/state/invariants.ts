import type { State } from './state.ts';

/** What cannot be in a consistent world, and is. */
export function violationsOf(state: State): string[] {
  return [
    ...deviceViolations(state),
    ...reservationViolations(state),
    ...keyViolations(state),
    ...timeViolations(state),
  ];
}

function deviceViolations({ devices, reservations }: State): string[] {
  const problems: string[] = [];
  const occupied = new Set<string>();
  for (const { id, state, reservationId } of devices.values()) {
    if (reservationId === null || state === 'deleted') continue;
    if (occupied.has(reservationId)) problems.push(`two devices on reservation ${reservationId}`);
    occupied.add(reservationId);
    if (reservations.get(reservationId)?.deviceId !== id) {
      problems.push(`device ${id} is not linked from its reservation`);
    }
  }
  return problems;
}

function reservationViolations({ devices, reservations }: State): string[] {
  const problems: string[] = [];
  for (const { id, deviceId, cleaning } of reservations.values()) {
    if (deviceId === null) continue;
    const device = devices.get(deviceId);
    if (!device) problems.push(`reservation ${id} carries a device that does not exist`);
    else if (device.reservationId !== id) {
      problems.push(`reservation ${id} carries a device that is not on it`);
    }
    if (cleaning) problems.push(`reservation ${id} is cleaned while in use`);
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
  [...devices.values()].flatMap(({ id, events, createdAtMs, updatedAtMs }) => {
    const times = [createdAtMs, ...events.map((event) => event.atMs)];
    const goesBack = times.some((atMs, i) => i > 0 && atMs < times[i - 1]!);
    return [
      ...(goesBack ? [`the events of device ${id} go back in time`] : []),
      ...(updatedAtMs < createdAtMs ? [`device ${id} was changed before it was created`] : []),
    ];
  });
