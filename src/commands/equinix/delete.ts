import pLimit from 'p-limit';
import { sleep } from '../../adapters/clock/port.ts';
import { isNotFound } from '../../adapters/http/errors.ts';
import { type Device, idOf } from '../../adapters/provider/equinix/client/schema.ts';
import {
  createGiveBack,
  type GiveBack,
  type ReservationState,
} from '../../adapters/provider/equinix/give-back.ts';
import { TimedOut } from '../../domain/errors.ts';
import { type Access, type AccessFlags, openAccess } from './access.ts';
import { agrees, type ConsentFlags, requireWayToAsk } from './consent.ts';
import { spareMachines } from './fleet-machines.ts';
import type { Operator } from './operator.ts';
import { isMeant, ownerText, requireReach, stillMeant } from './reach.ts';
import {
  carryOut,
  carryOutAll,
  declined,
  type Item,
  type Outcome,
  outcomeOf,
  planned,
  unreadText,
} from './report.ts';

export interface DeleteFlags extends AccessFlags, ConsentFlags {
  readonly project: string;
  /** Follow until the reservations can be used again. */
  readonly wait: boolean;
}

/** `shepherd equinix delete`: all devices of a project that are meant. */
export async function deleteDevices(flags: DeleteFlags, operator: Operator): Promise<Outcome> {
  requireWayToAsk(flags, operator);
  const access = openAccess(flags, flags.project, operator);
  requireReach(access);
  try {
    const { items, unread } = await access.client.listDevices(operator.signal, { insist: true });
    const found = items.filter((device) => isMeant(device, access)).map(subjectOf);
    const { others: meant, machines } = await spareMachines(
      ...([found, ({ id }: Doomed) => id, 'deprovision', flags, operator] as const),
    );
    const otherDevices = items.length + unread.length - meant.length;
    const more = { project: flags.project, otherDevices, machines };
    const question = {
      lines: [
        ...meant.map(({ name, device }) => `${name}  ${device.id}  ${ownerText(device)}`),
        `to be deleted with all data, of project ${flags.project}: ${meant.length};` +
          ` other devices that stay: ${otherDevices}`,
        ...unreadText('device', unread),
      ],
      prompt: `Type the last ${TAIL_LENGTH} characters of the project's id to delete them:`,
      answer: flags.project.slice(-TAIL_LENGTH),
      count: meant.length,
    };
    if (meant.length === 0) {
      unreadText('device', unread).forEach((line) => operator.note(line));
      return outcomeOf([], more);
    }
    if (flags.dryRun) {
      question.lines.forEach((line) => operator.note(line));
      return outcomeOf(meant.map(planned), more);
    }
    if (!(await agrees(question, flags, operator))) return declined(more);
    return outcomeOf(await removeAll(meant, flags, access, operator), more);
  } finally {
    access.client.stop();
  }
}

const TAIL_LENGTH = 4;
/** Waits that are followed at once. */
const WAITS_MAX = 8;

const subjectOf = (device: Device) => ({
  id: device.id,
  name: device.hostname ?? device.id,
  device,
});
type Doomed = ReturnType<typeof subjectOf>;

async function removeAll(
  meant: readonly Doomed[],
  { wait }: Pick<DeleteFlags, 'wait'>,
  access: Access,
  operator: Operator,
): Promise<Item[]> {
  const { signal } = operator;
  const giveBack = createGiveBack(access.config, { ...access, clock: operator.clock });
  const removed = await carryOutAll(
    meant,
    async ({ id }, step) => {
      const now = await unlessGone(stillMeant(id, access, signal));
      if (!now) await access.view.confirmGone(id, signal);
      if (now) await giveBack.remove(now, { signal });
      step(now ? 'deleted' : 'gone already');
    },
    operator,
  );
  if (!wait) return removed;
  const limit = pLimit(WAITS_MAX);
  return Promise.all(
    removed.map((item, index) => limit(() => follow(item, meant[index]!, giveBack, operator))),
  );
}

/** Null in place of what the API knows no more. One that it hides is not gone for that. */
const unlessGone = (reading: Promise<Device>): Promise<Device | null> =>
  reading.catch((error: unknown) => {
    if (isNotFound(error)) return null;
    throw error;
  });

/** What became of a device, once its reservation can be used again. */
async function follow(
  item: Item,
  doomed: Doomed,
  giveBack: GiveBack,
  operator: Operator,
): Promise<Item> {
  const reservationId = idOf(doomed.device.hardware_reservation);
  if (item.result !== 'done' || reservationId === null) return item;
  const followed = await carryOut(
    doomed,
    async (_, step) => {
      const state = await untilReusable(reservationId, giveBack, operator);
      step(state === 'free' ? 'reservation is free' : 'reservation has another device');
    },
    operator,
  );
  return { ...followed, steps: [...item.steps, ...followed.steps] };
}

const POLL_MS = 10_000;
const POLL_LIMIT_MS = 60 * 60_000;

/**
 * Waits until a device that was deleted has left its reservation and that was cleaned.
 * @throws {TimedOut} an hour was not enough.
 */
export async function untilReusable(
  reservationId: string,
  giveBack: Pick<GiveBack, 'stateOf'>,
  { clock, signal }: Pick<Operator, 'clock' | 'signal'>,
): Promise<Exclude<ReservationState, 'busy'>> {
  const beganMs = clock.monotonic();
  for (;;) {
    const state = await giveBack.stateOf(reservationId, signal);
    if (state !== 'busy') return state;
    if (clock.monotonic() - beganMs >= POLL_LIMIT_MS) {
      throw new TimedOut(`reservation ${reservationId} did not become reusable within an hour`);
    }
    await sleep(clock, POLL_MS, signal);
  }
}
