import pLimit from 'p-limit';
import type { Device, Reservation } from '../../adapters/provider/equinix/client/schema.ts';
import { createGiveBack, type GiveBack } from '../../adapters/provider/equinix/give-back.ts';
import { classify } from '../../adapters/provider/equinix/mapping.ts';
import { RemoteFailure, UsageError } from '../../domain/errors.ts';
import { type Access, type AccessFlags, openAccess, requireUuid } from './access.ts';
import { agrees, type ConsentFlags, type Question, requireWayToAsk } from './consent.ts';
import { untilReusable } from './delete.ts';
import { count, kindOf, tableOf } from './list.ts';
import { spareMachines } from './fleet-machines.ts';
import type { Operator } from './operator.ts';
import { deviceOn, isTakeable, ownerText, requireReach } from './reach.ts';
import { carryOut, declined, type Outcome, outcomeOf, planned, unreadText } from './report.ts';

export interface YoinkFlags extends AccessFlags, ConsentFlags {
  readonly sourceProject: string;
  readonly targetProject: string;
  /** Name of the plan. */
  readonly spec: string;
  /** Code of the metro that the reservations are in. */
  readonly metro: string;
  readonly count: number;
}

/** A reservation that can be taken, with the device that is to go first. */
interface Candidate {
  readonly id: string;
  readonly name: string;
  readonly reservation: Reservation;
  readonly device: Device | null;
}

/** Moves that are waited for at once. */
const WAITS_MAX = 8;

/**
 * `shepherd equinix yoink`: takes reservations of a kind away from a project, the free ones first.
 * Devices on them are deleted, but never those of another owner.
 */
export async function yoink(flags: YoinkFlags, operator: Operator): Promise<Outcome> {
  const { sourceProject: source, targetProject: target } = flags;
  requireWayToAsk(flags, operator);
  requireUuid('project', target);
  if (source === target) throw new UsageError('source and target are the same project');
  const access = openAccess(flags, source, operator);
  requireReach(access);
  const more = { source, target };
  try {
    const list = access.client.listReservations(operator.signal, { insist: true });
    const { items, unread } = await list;
    unreadText('reservation', unread).forEach((line) => operator.note(line));
    operator.note(tableOf(count(items, operator.clock.now(), kindOf)));
    const found = await candidatesOf(items.filter(matches(flags)), access, operator);
    const { others: candidates } = await spareMachines(
      ...([
        found,
        ({ device }: Candidate) => device?.id ?? null,
        'deprovision',
        flags,
        operator,
      ] as const),
    );
    if (candidates.length < flags.count) {
      const enough = `${candidates.length} of ${flags.count}`;
      operator.note(`only ${enough} ${flags.spec} in ${flags.metro} can be taken`);
      return declined(more);
    }
    const chosen = candidates.slice(0, flags.count);
    if (flags.dryRun) {
      questionFor(chosen, flags).lines.forEach((line) => operator.note(line));
      return outcomeOf(chosen.map(planned), more);
    }
    if (!(await agrees(questionFor(chosen, flags), flags, operator))) return declined(more);
    return outcomeOf(await takeAll(chosen, target, access, operator), more);
  } finally {
    access.client.stop();
  }
}

const matches = (flags: YoinkFlags) => (reservation: Reservation) => {
  const { metro, plan } = kindOf(reservation);
  return plan === flags.spec.toLowerCase() && metro === flags.metro.toLowerCase();
};

/** Free ones, then the ones whose device is oldest; always in the same order. */
async function candidatesOf(
  reservations: readonly Reservation[],
  access: Access,
  { clock, signal }: Operator,
): Promise<Candidate[]> {
  const free: Candidate[] = [];
  const used: (Candidate & { readonly device: Device })[] = [];
  for (const reservation of reservations) {
    const { id } = reservation;
    const of = classify(reservation, clock.now());
    if (of === 'available') free.push({ id, name: id, reservation, device: null });
    const device = of === 'inUse' ? await deviceOn(reservation, access, signal) : null;
    if (!device || !isTakeable(device, access)) continue;
    used.push({ id, name: device.hostname ?? device.id, reservation, device });
  }
  return [
    ...free.sort(by(({ reservation }) => reservation.created_at)),
    ...used.sort(by(({ device }) => device.created_at)),
  ];
}

/** Oldest first, those of unknown age last, by id where that leaves a choice. */
const by =
  <T extends Candidate>(createdAt: (candidate: T) => string | undefined) =>
  (one: T, other: T): number => {
    const age = (candidate: T) => Date.parse(createdAt(candidate) ?? '') || Number.MAX_SAFE_INTEGER;
    return age(one) - age(other) || (one.id < other.id ? -1 : 1);
  };

/** The number that costs most is asked for: of devices to be deleted, else of moves. */
function questionFor(chosen: readonly Candidate[], { targetProject }: YoinkFlags): Question {
  const doomed = chosen.flatMap(({ device }) => device ?? []);
  const size = doomed.length || chosen.length;
  const lines = [
    ...doomed.map((device) => `${device.hostname}  ${device.id}  ${ownerText(device)}`),
    `reservations to be moved to project ${targetProject}: ${chosen.length}`,
  ];
  return doomed.length > 0
    ? {
        lines: [...lines, `devices to be deleted before that, with all data: ${doomed.length}`],
        prompt: 'Type the number of devices to delete:',
        answer: String(size),
        count: size,
      }
    : {
        lines,
        prompt: 'Type the number of reservations to move:',
        answer: String(size),
        count: size,
      };
}

/** Frees and moves; each reservation on its way is independent of the others. */
async function takeAll(
  chosen: readonly Candidate[],
  target: string,
  access: Access,
  operator: Operator,
) {
  const { client, config, view } = access;
  const giveBack = createGiveBack(config, { client, view, clock: operator.clock });
  const limit = pLimit(WAITS_MAX);
  const take = async ({ id, device }: Candidate, step: (done: string) => void) => {
    if (device) await free({ id, device }, giveBack, { step, access, operator });
    await client.moveReservation(id, target, operator.signal);
    step('moved');
  };
  return Promise.all(chosen.map((each) => limit(() => carryOut(each, take, operator))));
}

/** @throws {RemoteFailure} it changed hands since it was listed, or somebody was faster. */
async function free(
  { id, device }: { readonly id: string; readonly device: Device },
  giveBack: GiveBack,
  context: {
    readonly step: (done: string) => void;
    readonly access: Access;
    readonly operator: Operator;
  },
): Promise<void> {
  const { step, access, operator } = context;
  const now = await access.view.get(device.id, operator.signal);
  if (!isTakeable(now, access)) {
    throw new RemoteFailure(`device ${device.id} belongs to ${ownerText(now)} now`);
  }
  await giveBack.remove(now, operator);
  step('device deleted');
  const state = await untilReusable(id, giveBack, operator);
  if (state === 'taken') throw new RemoteFailure(`somebody else has taken reservation ${id}`);
  step('reservation is free');
}
