import type { IntentRow, MachineRow, ProviderMachine } from '../../../src/domain/machine.ts';
import { WITNESS_TAG } from '../../../src/domain/provisioning/provider-tags.ts';
import { reconcile, type ReconcileInput } from '../../../src/domain/provisioning/reconcile.ts';
import {
  deprovisionAsked,
  device,
  free,
  intentRow,
  machineRow,
  NOW_MS,
  provided,
  PROVIDER,
  SESSION,
} from '../../support/facts.ts';
import { ago } from '../../support/fact-words.ts';

/** The decisions for a provider of which only the test's facts are known. */
export const judge = (change: Partial<ReconcileInput>) =>
  reconcile({
    provider: PROVIDER,
    listed: [],
    listingComplete: true,
    machines: [],
    intents: [],
    holds: [],
    penalties: [],
    nowMs: NOW_MS,
    machinesMax: 0,
    chunkSize: 20,
    ...change,
  });

export const witnessed = (change: Partial<ProviderMachine> = {}) =>
  device({ tags: { [WITNESS_TAG]: intentRow().witness }, ...change });
/** Another entry, so that a listing is not empty. */
export const OTHER = free({ reservationId: 'rack-9' });

const TEXTS: Readonly<Record<string, unknown>> = { null: null, true: true, false: false };
/** `id=device-2 failed=true`: fields of the preceding noun. */
const fieldsIn = (words: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(
    words
      .filter((word) => word.includes('='))
      .map((word) => word.split('=') as [string, string])
      .map(([name, text]) => [name, text in TEXTS ? TEXTS[text] : text]),
  );
/**
 * When an intent first had no device, how many requests it made, and whether its session is dead.
 */
function intentIn(words: readonly string[]): IntentRow {
  const { empty, attempts, ...fields } = fieldsIn(words);
  return intentRow({
    ...(words.includes('dead') && { sessionAlive: false }),
    ...(attempts !== undefined && { attempts: Number(attempts) }),
    ...(typeof empty === 'string' && { emptySinceMs: ago(empty) }),
    ...fields,
  });
}
/**
 * A machine that has been missing for this time and number of listings (`missing=15m seen=2`), or
 * is new or leaving.
 */
function machineIn(words: readonly string[]): MachineRow {
  const { missing, seen = '1', ...fields } = fieldsIn(words);
  return machineRow({
    provided: words.includes('bare') ? null : provided(fields),
    ...(typeof missing === 'string' && { missing: { sinceMs: ago(missing), seen: Number(seen) } }),
    ...(words.includes('young') && { createdAtMs: NOW_MS }),
    ...(words.includes('leaving') && { deprovision: deprovisionAsked() }),
  });
}

type Input = { -readonly [Key in keyof ReconcileInput]?: ReconcileInput[Key] };
/** A listing, rows and circumstances in words: `witnessed, intent dead, gap`. */
export function inputOf(words: string): Partial<ReconcileInput> {
  const listed: ProviderMachine[] = [];
  const machines: MachineRow[] = [];
  const intents: IntentRow[] = [];
  const input: Input = {};
  for (const phrase of words.split(', ').filter(Boolean)) {
    const [word = '', ...of] = phrase.split(' ');
    const fields = fieldsIn(of) as Partial<ProviderMachine>;
    if (word === 'device') listed.push(device(fields));
    else if (word === 'witnessed') listed.push(witnessed(fields));
    else if (word === 'free') listed.push(free(fields));
    else if (word === 'other') listed.push(OTHER);
    else if (word === 'machine') machines.push(machineIn(of));
    else if (word === 'intent') intents.push(intentIn(of));
    else if (word === 'gap') input.listingComplete = false;
    else if (word === 'assimilate') input.assimilate = true;
    else if (word === 'ours') input.self = SESSION;
    else if (word === 'running') input.running = new Set([intentRow().witness]);
    else if (word === 'unreadable') {
      input.unreadable = [{ id: of[0]!, reservationId: null, fault: 'it has no hostname' }];
    } else throw new Error(`no word says "${phrase}"`);
  }
  return { ...input, listed, machines, intents };
}
/** Each finding with its action. */
export const findingsOf = (words: string, more: Partial<ReconcileInput> = {}): string =>
  judge({ ...inputOf(words), ...more })
    .machines.map(({ case: name, action }) => `${name} ${action}`)
    .join(', ');
