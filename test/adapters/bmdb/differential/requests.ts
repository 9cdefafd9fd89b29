import { createHash } from 'node:crypto';
import type {
  BmdbSession,
  NewRequest,
  RequestedThing,
  RequestTarget,
} from '../../../../src/adapters/bmdb/port.ts';
import type { InstallImage } from '../../../../src/domain/requests.ts';
import { targetOf } from '../../../contracts/requests-of.ts';
import { SIGNAL } from '../../../contracts/bmdb-stage.ts';
import type { BmdbHarness } from '../../../contracts/bmdb-stage.ts';
import { PROVIDERS, SECOND } from './commands.ts';
import type { Asked, Command } from './commands.ts';
import { idOf } from './rows.ts';

/** Commands about what operators ask for. */

/** What of a side is needed here. */
interface RequestSide {
  readonly h: BmdbHarness;
  /** Keys of what was filed, or tried to be. */
  readonly keys: string[];
}

const SHA256 = createHash('sha256').update('image').digest('hex');
const IMAGE: InstallImage = {
  url: 'https://images.test/a.img',
  sha256: SHA256,
  compression: 'zstd' as const,
  rootDevice: { serial: 'S1' },
};

/** Whatever has an end is settled at once: times in what was asked for do not pass with the rows. */
export async function file(
  { h, keys }: RequestSide,
  session: BmdbSession,
  { machine, asked, reuse, validS, at }: Extract<Command, { do: 'file' }>,
): Promise<unknown> {
  const target = await targetAt(h, machine, asked.elsewhere);
  const nowMs = h.nowMs();
  const key = (reuse === null ? undefined : keys.at(-1 - reuse)) ?? `key ${keys.length}`;
  if (reuse === null) keys.push(key);
  const request: NewRequest = {
    key,
    by: 'ann',
    reason: 'no longer needed',
    validForMs: validS * SECOND,
    what: thingOf(asked, target, nowMs),
  };
  const filed = await h.other.requests.file(request);
  return at === 'once' ? { filed, settled: await session.settle(key) } : filed;
}

async function targetAt(
  h: BmdbHarness,
  machine: number,
  elsewhere: boolean,
): Promise<RequestTarget> {
  const { row } = await h.bmdb.readMachine(idOf(machine), SIGNAL);
  const nowhere = { provider: PROVIDERS[0]!, slotId: `slot-${machine}`, machineId: idOf(machine) };
  const found = row?.provided ? targetOf(row) : nowhere;
  return elsewhere ? { ...found, slotId: 'slot-9' } : found;
}

function thingOf(asked: Asked, target: RequestTarget, nowMs: number): RequestedThing {
  const { verb } = asked;
  const untilMs = asked.untilS === null ? null : nowMs + asked.untilS * SECOND;
  switch (verb) {
    case 'hold':
      return { verb, target: placeOf(asked, target), kind: asked.kind, untilMs };
    case 'unhold':
      return { verb, target: placeOf(asked, target), kind: asked.kind };
    case 'quarantine':
      return { verb, target, untilMs };
    case 'release':
      return { verb, target, forgetHostKey: asked.flag };
    case 'reboot':
      return { verb, target, force: asked.flag };
    case 'install':
      return { verb, target, image: IMAGE };
    case 'freeze':
    case 'thaw':
      return { verb, scope: asked.flag ? 'fleet' : target.provider };
    default:
      return { verb, target };
  }
}

/** A hold may be set whatever is on the slot. */
const placeOf = ({ flag }: Asked, target: RequestTarget): RequestTarget =>
  flag ? target : { ...target, machineId: null };

/** What was asked, with what became of it; all, since equal times have no order. */
export async function list({ h, keys }: RequestSide): Promise<unknown> {
  const listed = await h.bmdb.requests.list({ limit: 1_000 }, SIGNAL);
  const read = await h.other.requests.read([...keys, 'no such key'], SIGNAL);
  const [slot] = listed;
  const ofSlot =
    slot?.provider && slot.slotId !== null
      ? await h.bmdb.requests.list(
          { provider: slot.provider, slotId: slot.slotId, limit: 99 },
          SIGNAL,
        )
      : [];
  return { listed: listed.length, requests: read, ofSlot: ofSlot.length };
}
