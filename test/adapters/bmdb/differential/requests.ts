import fc from 'fast-check';
import type {
  BmdbSession,
  RequestedThing,
  RequestTarget,
} from '../../../../src/adapters/bmdb/port.ts';
import { isOrder, MACHINE_VERBS, ORDER_VERBS } from '../../../../src/domain/verbs.ts';
import type { InstallImage } from '../../../../src/domain/verbs.ts';
import { requestFor, targetOf } from '../../../contracts/requests-of.ts';
import { SIGNAL } from '../../../contracts/bmdb-stage.ts';
import { idOf, plain, PROVIDERS, SECOND, seldom, type GeneratedBy } from './setting.ts';
import type { Side } from './side.ts';

const DECISIONS = MACHINE_VERBS.filter((verb) => !isOrder(verb));
const VERBS = [...ORDER_VERBS, ...DECISIONS, ...DECISIONS, 'freeze', 'thaw'] as const;
export const hold = fc.constantFrom('no-start', 'no-recover', 'no-allocate', 'preserve');
/** An operator request. Fields that a verb does not use are ignored. */
export const asked = plain({
  verb: fc.constantFrom(...VERBS),
  kind: hold,
  untilS: fc.constant<number | null>(null),
  flag: fc.boolean(),
  /** Names a slot that the machine is not on. */
  elsewhere: seldom(false, fc.constant(true)),
});
export type GeneratedRequest = GeneratedBy<typeof asked>;

const IMAGE: InstallImage = {
  url: 'https://images.test/a.img',
  sha256: '6d'.repeat(32),
  compression: 'zstd',
  rootDevice: { serial: 'S1' },
};

export interface ScriptedSubmission {
  readonly machine: number;
  readonly asked: GeneratedRequest;
  /** The key of an earlier request, this far back. */
  readonly reuse: number | null;
  readonly validS: number;
  /** The time of the resolution. */
  readonly at: 'once' | 'later';
}

/** Requests with an end are resolved at once: the times in a request do not move with the rows. */
export async function submit(
  side: Side,
  session: BmdbSession,
  submission: ScriptedSubmission,
): Promise<unknown> {
  const { h, keys } = side;
  const { reuse, validS, at } = submission;
  const what = await thingOf(side, submission);
  const key = (reuse === null ? undefined : keys.at(-1 - reuse)) ?? `key ${keys.length}`;
  if (reuse === null) keys.push(key);
  const submitted = await h.other.requests.submit(
    requestFor(what, { key, validForMs: validS * SECOND }),
  );
  return at === 'once' ? { submitted, ended: await session.applyRequest(key) } : submitted;
}

async function thingOf({ h }: Side, submission: ScriptedSubmission): Promise<RequestedThing> {
  const { verb, kind, untilS, flag, elsewhere } = submission.asked;
  const machineId = idOf(submission.machine);
  const { row } = await h.bmdb.readMachine(machineId, SIGNAL);
  const nowhere = { provider: PROVIDERS[0]!, slotId: `slot-${submission.machine}`, machineId };
  const found = row?.provided ? targetOf(row) : nowhere;
  const target: RequestTarget = elsewhere ? { ...found, slotId: 'slot-9' } : found;
  const untilMs = untilS === null ? null : h.nowMs() + untilS * SECOND;
  // A hold may be set whatever the slot contains.
  const place = flag ? target : { ...target, machineId: null };
  switch (verb) {
    case 'hold':
      return { verb, target: place, kind, untilMs };
    case 'unhold':
      return { verb, target: place, kind };
    case 'label':
      return { verb, target, set: flag ? 'rack=b4' : 'rack=b5,team-' };
    case 'note':
      return { verb, target: place, text: 'looked at' };
    case 'quarantine':
      return { verb, target, untilMs };
    case 'retire':
      return { verb, target: place, giveBack: elsewhere };
    case 'unretire':
      return { verb, target: place };
    case 'release':
      return { verb, target, forgetHostKey: flag };
    case 'reboot':
      return { verb, target, force: flag };
    case 'install':
      return { verb, target, image: IMAGE };
    case 'freeze':
    case 'thaw':
      return { verb, scope: flag ? 'fleet' : target.provider };
    default:
      return { verb, target };
  }
}

/**
 * The requests with their results, and only the number of listed ones, since equal times have no
 * order.
 */
export async function list({ h, keys }: Side): Promise<unknown> {
  const listed = await h.bmdb.requests.list({ limit: 1_000 }, SIGNAL);
  const requests = await h.other.requests.read([...keys, 'no such key'], SIGNAL);
  const { provider = null, slotId = null } = listed[0] ?? {};
  const isOfSlot = provider !== null && slotId !== null;
  const ofSlot = isOfSlot
    ? await h.bmdb.requests.list({ provider, slotId, limit: 99 }, SIGNAL)
    : [];
  return { listed: listed.length, requests, ofSlot: ofSlot.length };
}
