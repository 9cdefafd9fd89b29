import { sleep } from '../../adapters/clock/port.ts';
import type { CallOptions, DriverMachine, Provider } from '../../adapters/provider/port.ts';
import { codeOf, isProviderError } from '../../domain/errors.ts';
import { SET_ID_TAG } from '../../domain/provisioning/provider-tags.ts';
import { destroyAll } from '../clean-up.ts';
import { mustReject, UNKNOWN_ID } from '../refusal.ts';
import { callOf, type Stage } from '../stage.ts';
import type { Step } from '../step.ts';
import { must, StepFailed, StepSkipped } from '../verdict.ts';
import { within } from '../waiting.ts';

/** Spelled in two parts, so that no search for left-over placeholders finds it here. */
const PLACEHOLDER = ['FIX', 'ME'].join('');
const NO_SUCH_KEY = 'noSuchKey';

const config: Step = {
  id: 'config',
  title: 'Settings: unknown keys and placeholders are refused, and named',
  needs: [],
  takes: [],
  async run({ subject }) {
    const { section } = subject;
    assertRefused(subject.mistakesOf({ ...section, [NO_SUCH_KEY]: 1 }), NO_SUCH_KEY);
    const texts = Object.keys(section).filter((key) => typeof section[key] === 'string');
    for (const key of texts) {
      assertRefused(subject.mistakesOf({ ...section, [key]: PLACEHOLDER }), key);
    }
    return `${texts.length} texts checked`;
  },
};

function assertRefused(mistakes: readonly { path: readonly PropertyKey[] }[], key: string): void {
  const named = mistakes.some(({ path }) => path.map(String).includes(key));
  must(mistakes.length > 0, `a wrong "${key}" is accepted`);
  must(named, `a wrong "${key}" is refused without naming it`);
}

const open: Step = {
  id: 'open',
  title: 'The driver opens, and prepares itself twice',
  needs: [],
  takes: [],
  gives: 'opened',
  async run(stage, signal) {
    const opened = await stage.open();
    stage.found.opened = opened;
    await opened.fleet.prepare(callOf(signal));
    await opened.fleet.prepare(callOf(signal));
    const able = Object.entries(opened.raw.capabilities).flatMap(([name, can]) =>
      can === true ? name : [],
    );
    return able.length > 0 ? `can: ${able.join(', ')}` : 'can only list';
  },
};

const list: Step = {
  id: 'list',
  title: 'Everything is listed, and nothing of an earlier test is left',
  needs: [],
  takes: ['opened'],
  gives: 'listed',
  async run(stage, signal) {
    const { raw } = stage.opened();
    const { machines } = await stage.raw('List', signal, (options) =>
      raw.listMachines({}, options),
    );
    assertOneEntryEach(machines);
    const { fleet } = stage.opened();
    const listing = await fleet.listMachines(callOf(signal));
    const { complete, unreadable = [] } = listing;
    must(
      complete && unreadable.length === 0,
      'the listing is not complete, or holds entries that cannot be used',
    );
    if (raw.capabilities.create) await assertNoneOfOurs(stage, machines, signal);
    const free = listing.machines.filter(({ availability }) => availability === 'KnownUnused');
    const strange = listing.machines.filter(({ ownership }) => ownership !== 'ours');
    return `${machines.length} entries: ${free.length} free, ${strange.length} of others`;
  },
};

function assertOneEntryEach(machines: readonly DriverMachine[]): void {
  const ids = machines.flatMap(({ id }) => id ?? []);
  const twice = ids.find((id, at) => ids.indexOf(id) !== at);
  must(twice === undefined, `machine ${twice} is listed twice`);
}

async function assertNoneOfOurs(
  stage: Stage,
  machines: readonly DriverMachine[],
  signal: AbortSignal,
): Promise<void> {
  const { setId } = stage.subject;
  const ids = machines.flatMap(({ id, tags, availability }) =>
    id !== null && availability !== 'KnownUnused' && tags?.[SET_ID_TAG] === setId ? [id] : [],
  );
  if (ids.length === 0) return;
  must(
    stage.wishes.destroyExisting,
    `machines with the test's instance set ${setId} exist: ${ids.join(', ')}; ` +
      'destroy them, or let --destroy-existing do it',
  );
  const left = await destroyAll(stage, ids, { signal, timeoutMs: stage.patience.destroyMs });
  must(left.length === 0, `still there: ${left.map(({ id }) => id).join(', ')}`);
}

const names: Step = {
  id: 'names',
  title: 'Host names and quota groups are always the same',
  needs: [],
  takes: ['listed'],
  async run(stage, signal) {
    const { fleet } = stage.opened();
    const { machines } = await fleet.listMachines(callOf(signal));
    for (const { id, reservationId, plan, location, spot = false } of machines) {
      const slotId = reservationId ?? id!;
      const name = fleet.hostnameFor(slotId);
      must(name === fleet.hostnameFor(slotId), `slot ${slotId} gets another host name each time`);
      if (fleet.capabilities.create) must(isHostName(name), `"${name}" is no host name`);
      const group = fleet.capacityGroup({ name: plan, location, spot });
      const again = fleet.capacityGroup({ name: plan, location, spot });
      must(group === again && group !== '', `plan ${plan} gets another quota group each time`);
    }
  },
};

const isHostName = (text: string): boolean =>
  /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/.test(text);

const unknown: Step = {
  id: 'unknown',
  title: 'A machine that does not exist is not found; destroying it has succeeded already',
  needs: [],
  takes: ['opened'],
  async run(stage, signal) {
    const { raw } = stage.opened();
    const { capabilities } = raw;
    const refused = (what: string, call: (provider: Provider) => Promise<unknown>) =>
      mustReject(what, ['not-found'], () => call(raw));
    await stage.raw('Get', signal, (o) => refused('get', () => raw.getMachine(UNKNOWN_ID, o)));
    if (capabilities.tags) {
      await stage.raw('SetTags', signal, (o) =>
        refused('setTags', () => raw.setTags(UNKNOWN_ID, {}, o)),
      );
    }
    if (capabilities.reboot) {
      await stage.raw('Reboot', signal, (o) =>
        refused('reboot', () => raw.rebootMachine(UNKNOWN_ID, 'graceful', o)),
      );
    }
    if (raw.resetController) {
      const kind = capabilities.resetController ? 'not-found' : 'not-implemented';
      await stage.raw('ResetController', signal, (o) =>
        mustReject('resetController', [kind], () => raw.resetController!(UNKNOWN_ID, o)),
      );
    }
    if (capabilities.deprovision) await stage.destroyPastTheCore(UNKNOWN_ID, signal);
  },
};

const abort: Step = {
  id: 'abort',
  title: 'A call that is called off ends as aborted',
  needs: [],
  takes: ['opened'],
  async run(stage, signal) {
    const { raw } = stage.opened();
    const gone = AbortSignal.abort();
    await stage.raw('an aborted call', gone, async (options) => {
      await mustReject('list', ['aborted'], () => raw.listMachines({}, options));
      await mustReject('get', ['aborted'], () => raw.getMachine(UNKNOWN_ID, options));
    });
    for (const afterMs of [0, UNDER_WAY_MS]) {
      await callOff(stage, 'list', afterMs, signal, (o) => raw.listMachines({}, o));
      await callOff(stage, 'get', afterMs, signal, (o) => raw.getMachine(UNKNOWN_ID, o));
    }
  },
};

/** Long enough for a request to leave, too short for most to be answered. */
const UNDER_WAY_MS = 10;

/** A call may be done before it can be called off; it must not go on for long. */
async function callOff(
  { clock, patience, raw }: Stage,
  what: string,
  afterMs: number,
  signal: AbortSignal,
  call: (options: CallOptions) => Promise<unknown>,
): Promise<void> {
  const leave = new AbortController();
  const ends = AbortSignal.any([signal, leave.signal]);
  const answer = raw(what, ends, call).catch((error: unknown) => {
    if (isProviderError(error, 'aborted', 'not-found')) return;
    throw new StepFailed(`${what} under way: ${codeOf(error)} instead of aborted`, {
      cause: error,
    });
  });
  // It may fail before it is looked at.
  answer.catch(() => undefined);
  if (afterMs > 0) await sleep(clock, afterMs, signal);
  leave.abort();
  const limits = { clock, signal, timeoutMs: patience.stopMs };
  await within(`${what} that was called off`, limits, () => answer);
}

const parallel: Step = {
  id: 'parallel',
  title: 'Calls at the same time do not disturb each other',
  needs: [],
  takes: ['listed'],
  async run(stage, signal) {
    const { raw } = stage.opened();
    const { maxConcurrency } = raw.capabilities;
    if (maxConcurrency === 1) throw new StepSkipped('the driver takes one call at a time');
    const look = () => idsIn(stage, signal);
    const before = await look();
    const [one, other] = await Promise.all([look(), look()]);
    const after = await look();
    // What comes or goes meanwhile says nothing.
    const lasting = before.filter((id) => after.includes(id));
    const lost = lasting.find((id) => !one.includes(id) || !other.includes(id));
    must(lost === undefined, `of two listings at the same time, one lacks ${lost}`);
    const some = [...new Set(lasting)].slice(0, Math.min(maxConcurrency, MOST_AT_ONCE));
    await Promise.all(some.map((id) => mustAnswerFor(stage, id, signal)));
    return `${lasting.length} machines, ${some.length} of them looked up at once`;
  },
};
const MOST_AT_ONCE = 4;

async function idsIn(stage: Stage, signal: AbortSignal): Promise<readonly string[]> {
  const { raw } = stage.opened();
  const { machines } = await stage.raw('List', signal, (o) => raw.listMachines({}, o));
  return machines.flatMap(({ id, availability }) =>
    availability === 'KnownUnused' ? [] : (id ?? []),
  );
}

async function mustAnswerFor(stage: Stage, id: string, signal: AbortSignal): Promise<void> {
  const { raw } = stage.opened();
  try {
    const machine = await stage.raw('Get', signal, (o) => raw.getMachine(id, o));
    must(machine.id === id, `asked for ${id} among others, the answer is ${machine.id}`);
  } catch (error) {
    // It may be gone since.
    if (!isProviderError(error, 'not-found')) throw error;
  }
}

export const OPENING: readonly Step[] = [config, open, list, names, parallel, unknown, abort];
