import { sleep } from '../../adapters/clock/port.ts';
import type { CallOptions, DriverMachine } from '../../adapters/provider/port.ts';
import { codeOf, isProviderError } from '../../domain/errors.ts';
import { SET_ID_TAG } from '../../domain/provisioning/provider-tags.ts';
import { destroyAll } from '../clean-up.ts';
import { callsOn, mustReject, slotIdOf, UNKNOWN_ID } from '../requests.ts';
import { stageAt, type ConformanceStage } from '../stage.ts';
import type { ConformanceStep } from '../step.ts';
import type { Opened } from '../subject.ts';
import { must, StepFailed, StepSkipped, within } from '../waiting.ts';

/** In two parts, so that no search for leftover placeholders finds it here. */
const PLACEHOLDER = ['FIX', 'ME'].join('');
const NO_SUCH_KEY = 'noSuchKey';

const config: ConformanceStep = {
  id: 'config',
  title: 'The settings reject unknown keys and placeholders by name',
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
  must(mistakes.length > 0, `an invalid "${key}" is accepted`);
  must(named, `an invalid "${key}" is rejected without its name`);
}

const open: ConformanceStep = {
  id: 'open',
  title: 'The driver opens, and a repeated preparation succeeds',
  needs: [],
  takes: [],
  gives: 'opened',
  async run(stage) {
    const opened = await openFor(stage);
    stage.found.opened = opened;
    await opened.fleet.prepare(stage.call);
    await opened.fleet.prepare(stage.call);
    const able = Object.entries(opened.raw.capabilities).flatMap(([name, can]) =>
      can === true ? name : [],
    );
    return able.length > 0 ? `can: ${able.join(', ')}` : 'the driver can only list';
  },
};

/** A provider that also creates machines is tested on an adopted one, if that is named. */
async function openFor(stage: ConformanceStage): Promise<Opened> {
  const { reservation } = stage.wishes;
  const opened = await stage.open();
  stage.found.opened = opened;
  if (reservation === null || opened.raw.capabilities.adopted === undefined) return opened;
  const named = (await stage.list()).find(({ id }) => id === reservation);
  if (named?.availability !== 'PossiblyUsed') return opened;
  await opened.fleet.stop();
  stage.found.isAdopting = true;
  return stage.open();
}

const list: ConformanceStep = {
  id: 'list',
  title: 'The listing is complete, without machines of earlier tests',
  needs: [],
  takes: ['opened'],
  gives: 'listed',
  async run(stage) {
    const { machines } = await stage.listRaw();
    assertOneEntryEach(machines);
    const listing = await stage.fleet.listMachines(stage.call);
    const { complete, unreadable = [] } = listing;
    must(complete && unreadable.length === 0, 'the listing is incomplete, or has unusable entries');
    if (stage.raw.capabilities.create) await assertNoneOfOurs(stage, machines);
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
  stage: ConformanceStage,
  machines: readonly DriverMachine[],
): Promise<void> {
  const { setId } = stage.subject;
  const ids = machines.flatMap(({ id, tags, availability }) =>
    id !== null && availability === 'KnownUsed' && tags?.[SET_ID_TAG] === setId ? [id] : [],
  );
  if (ids.length === 0) return;
  must(
    stage.wishes.destroyExisting,
    `machines with the test's instance set ${setId} exist: ${ids.join(', ')}; ` +
      'destroy them, or give --destroy-existing',
  );
  const left = await destroyAll(stage, ids, stage.patience.destroyMs);
  must(left.length === 0, `still there: ${left.map(({ id }) => id).join(', ')}`);
}

const names: ConformanceStep = {
  id: 'names',
  title: 'Host names and quota groups never change',
  needs: [],
  takes: ['listed'],
  async run(stage) {
    const { fleet } = stage;
    for (const machine of await stage.list()) {
      const { plan, location, spot = false } = machine;
      const slotId = slotIdOf(machine);
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

const unknown: ConformanceStep = {
  id: 'unknown',
  title: 'A missing machine is not found, and destroying it succeeds',
  needs: [],
  takes: ['opened'],
  async run(stage) {
    const { raw } = stage;
    const { destroy, ...calls } = callsOn(raw);
    for (const [what, call] of Object.entries(calls)) {
      await mustReject(what, ['not-found'], () => stage.ask<unknown>(what, call));
    }
    if (raw.resetController) {
      const kind = raw.capabilities.resetController ? 'not-found' : 'not-implemented';
      await mustReject('resetController', [kind], () =>
        stage.ask('ResetController', (options) => raw.resetController!(UNKNOWN_ID, options)),
      );
    }
    if (destroy) await stage.destroyPastTheCore(UNKNOWN_ID);
  },
};

const abort: ConformanceStep = {
  id: 'abort',
  title: 'An aborted call fails as aborted',
  needs: [],
  takes: ['opened'],
  async run(stage) {
    const { raw } = stage;
    const list = (options: CallOptions) => raw.listMachines({}, options);
    const get = (options: CallOptions) => raw.getMachine(UNKNOWN_ID, options);
    await stageAt(stage, AbortSignal.abort()).ask('an aborted call', async (options) => {
      await mustReject('list', ['aborted'], () => list(options));
      await mustReject('get', ['aborted'], () => get(options));
    });
    for (const afterMs of [0, UNDER_WAY_MS]) {
      await callOff(stage, 'list', afterMs, list);
      await callOff(stage, 'get', afterMs, get);
    }
  },
};

/** Long enough for a request to leave, too short for most answers. */
const UNDER_WAY_MS = 10;

/** A call may complete before its abort; it must not last long afterwards. */
async function callOff(
  stage: ConformanceStage,
  what: string,
  afterMs: number,
  call: (options: CallOptions) => Promise<unknown>,
): Promise<void> {
  const { clock, patience, signal } = stage;
  const leave = new AbortController();
  const { ask } = stageAt(stage, AbortSignal.any([signal, leave.signal]));
  const answer = ask(what, call).catch((error: unknown) => {
    if (isProviderError(error, 'aborted', 'not-found')) return;
    throw new StepFailed(`${what} under way: ${codeOf(error)} instead of aborted`, {
      cause: error,
    });
  });
  // It may fail before it is awaited.
  answer.catch(() => undefined);
  if (afterMs > 0) await sleep(clock, afterMs, signal);
  leave.abort();
  const limits = { clock, signal, timeoutMs: patience.stopMs };
  await within(`${what} after an abort`, limits, () => answer);
}

const parallel: ConformanceStep = {
  id: 'parallel',
  title: 'Simultaneous calls return correct answers',
  needs: [],
  takes: ['listed'],
  async run(stage) {
    const { maxConcurrency } = stage.raw.capabilities;
    if (maxConcurrency === 1) throw new StepSkipped('the driver takes one call at a time');
    const look = () => idsIn(stage);
    const before = await look();
    const [one, other] = await Promise.all([look(), look()]);
    const after = await look();
    // Entries that come or go meanwhile prove nothing.
    const lasting = before.filter((id) => after.includes(id));
    const lost = lasting.find((id) => !one.includes(id) || !other.includes(id));
    must(lost === undefined, `of two simultaneous listings, one lacks ${lost}`);
    const some = [...new Set(lasting)].slice(0, Math.min(maxConcurrency, MOST_AT_ONCE));
    await Promise.all(some.map((id) => mustAnswerFor(stage, id)));
    return `${lasting.length} machines, ${some.length} of them looked up at once`;
  },
};
const MOST_AT_ONCE = 4;

async function idsIn(stage: ConformanceStage): Promise<readonly string[]> {
  const { machines } = await stage.listRaw();
  return machines.flatMap(({ id, availability }) =>
    availability === 'KnownUnused' ? [] : (id ?? []),
  );
}

async function mustAnswerFor({ ask, raw }: ConformanceStage, id: string): Promise<void> {
  try {
    const machine = await ask('Get', (options) => raw.getMachine(id, options));
    must(
      machine.id === id,
      `requested ${id} in a simultaneous call, but the driver returned ${machine.id}`,
    );
  } catch (error) {
    // It may be gone since.
    if (!isProviderError(error, 'not-found')) throw error;
  }
}

export const OPENING: readonly ConformanceStep[] = [
  config,
  open,
  list,
  names,
  parallel,
  unknown,
  abort,
];
