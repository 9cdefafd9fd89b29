import { proveHostKey } from '../../actors/tasks/host-key-proof.ts';
import { explain, HostKeyRejected, isProviderError } from '../../domain/errors.ts';
import {
  IDLE_TAG,
  SECRET_TAG,
  SET_ID_TAG,
  TAG_PREFIX,
  type Tags,
  WITNESS_TAG,
} from '../../domain/provisioning/provider-tags.ts';
import type { ConformanceStage } from '../stage.ts';
import type { ConformanceStep } from '../step.ts';
import {
  must,
  StepFailed,
  StepSkipped,
  NotInTime,
  type Pending,
  pending,
  shown,
} from '../waiting.ts';
import { bootWait, isEarly, overSsh, tryBootId, tryConnect } from './contact.ts';
import { assertTags, tagFault } from './creation.ts';

const roundTrip: ConformanceStep = {
  id: 'tag-changes',
  title: 'setTags replaces only our tags, and a second instance of the driver sees them',
  needs: ['tags'],
  takes: ['machine'],
  async run(stage) {
    const { tags } = await stage.refresh();
    const { own, foreign } = split(tags);
    const idle = own[IDLE_TAG] === 'hold' ? 'drain' : 'hold';
    await changeTags(stage, { ...own, [IDLE_TAG]: idle }, foreign);
    await seenElsewhere(stage, { ...foreign, ...own, [IDLE_TAG]: idle });
    const { [IDLE_TAG]: before, ...rest } = own;
    await changeTags(stage, rest, foreign);
    if (before !== undefined) await changeTags(stage, own, foreign);
    return `${Object.keys(foreign).length} tags of others intact`;
  },
};

function split(tags: Tags): { readonly own: Tags; readonly foreign: Tags } {
  const isOwn = ([key]: [string, string]) => key.startsWith(TAG_PREFIX);
  const all = Object.entries(tags);
  return {
    own: Object.fromEntries(all.filter(isOwn)),
    foreign: Object.fromEntries(all.filter((entry) => !isOwn(entry))),
  };
}

/** Sets our tags; reads may be outdated for a while. */
async function changeTags(stage: ConformanceStage, own: Tags, foreign: Tags): Promise<void> {
  const { patience, raw, machineId: id } = stage;
  must(own[SET_ID_TAG] === stage.subject.setId, 'the machine is not marked as the test’s');
  await stage.ask('SetTags', (options) => raw.setTags(id, own, options));
  const limits = { timeoutMs: patience.syncMs * 2, intervalMs: patience.probeMs };
  await stage.until('the new tags', limits, async () => {
    const { tags } = await stage.fleet.getMachine(id, stage.call);
    const wanted = { ...foreign, ...own };
    const more = Object.keys(tags).find((key) => !(key in wanted));
    const fault =
      tagFault(tags, wanted) ?? (more === undefined ? null : `tag ${more} should be gone`);
    return fault === null ? true : pending(fault);
  });
}

async function seenElsewhere(stage: ConformanceStage, wanted: Tags): Promise<void> {
  const second = await stage.open();
  try {
    const { tags } = await second.fleet.getMachine(stage.machineId, stage.call);
    assertTags(tags, wanted);
  } catch (error) {
    if (!isProviderError(error, 'not-found')) throw error;
    throw new StepFailed('a second instance of the driver does not know the machine');
  } finally {
    await second.fleet.stop();
  }
}

const rebootWait = (stage: ConformanceStage) => ({
  ...bootWait(stage),
  timeoutMs: stage.patience.rebootMs,
});

/** @throws {StepSkipped} the driver supports the request, but this machine does not. */
async function unlessUnable(request: Promise<unknown>): Promise<void> {
  await request.catch((error: unknown) => {
    if (!isProviderError(error, 'not-implemented')) throw error;
    throw new StepSkipped(`not supported by this machine, and rejected: ${explain(error)}`);
  });
}

const reboot: ConformanceStep = {
  id: 'reboot',
  title: 'A reboot changes the boot id',
  needs: ['reboot'],
  destructive: 'existing',
  takes: ['booted'],
  async run(stage) {
    const begun = stage.clock.monotonic();
    for (const mode of ['graceful', 'force'] as const) {
      await unlessUnable(stage.fleet.rebootMachine(stage.machineId, mode, stage.call));
      if (await bootIdChanges(stage)) {
        return `${mode}, ${shown(stage.clock.monotonic() - begun)}`;
      }
    }
    throw new StepFailed('two reboots were accepted, but the boot id never changed');
  },
};

/** Waits for a boot; an accepted request is no proof. False: no boot in time. */
async function bootIdChanges(stage: ConformanceStage): Promise<boolean> {
  const { found } = stage;
  try {
    found.bootId = await stage.until('another boot id', rebootWait(stage), async () => {
      const bootId = await tryBootId(stage);
      return bootId === found.bootId ? pending('the boot id is the same') : bootId;
    });
    return true;
  } catch (error) {
    if (error instanceof NotInTime) return false;
    throw error;
  }
}

const power: ConformanceStep = {
  id: 'power',
  title: 'The machine is switched off and on again',
  needs: ['power'],
  destructive: 'always',
  takes: ['booted'],
  async run(stage) {
    const { fleet, call, machineId: id } = stage;
    await unlessUnable(fleet.setPower(id, 'off', call));
    await stage.until('the machine is off', rebootWait(stage), () => looksOff(stage));
    await fleet.setPower(id, 'on', call);
    must(await bootIdChanges(stage), 'the machine was switched on, but the boot id never changed');
    const { power: state } = await stage.refresh();
    must(state !== 'off', 'the machine is up, but the provider still shows it as off');
  },
};

async function looksOff(stage: ConformanceStage): Promise<true | Pending> {
  const session = await tryConnect(stage);
  if (!('pending' in session)) {
    session.close();
    return pending('SSH still answers');
  }
  const { power: state } = stage.machine;
  return state === 'on' ? pending('the provider still shows it as on') : true;
}

const reinstall: ConformanceStep = {
  id: 'reinstall',
  title: 'A reinstallation keeps the id and changes host key, secret and boot id',
  needs: ['reinstall'],
  destructive: 'always',
  takes: ['booted'],
  async run(stage) {
    const { found, machineId: id } = stage;
    const { hostKey, bootId } = found;
    const { tags: before } = await stage.refresh();
    await stage.fleet.reinstallMachine(id, stage.call);
    found.hostKey = await stage.until('the new system', bootWait(stage), () =>
      tryNewSystem(stage, hostKey!),
    );
    const { tags, id: now } = stage.machine;
    must(now === id, `the id changed from ${id} to ${now}`);
    must(tags[SECRET_TAG] !== before[SECRET_TAG], 'the secret is the same as before');
    must(tags[WITNESS_TAG] === before[WITNESS_TAG], 'the machine lost its creation key');
    found.bootId = await stage.until('the boot probe', bootWait(stage), () => tryBootId(stage));
    must(found.bootId !== bootId, 'the boot id is the same as before');
  },
};

/** The old system answers until it is gone, the new one before it can prove itself. */
const tryNewSystem = (stage: ConformanceStage, oldKey: string): Promise<string | Pending> =>
  overSsh(tryConnect(stage), async (session) => {
    if (session.hostKey === oldKey) return pending('the host key is the same');
    const { fleet: provider, machine, signal } = stage;
    const question = { provider, machine, session, policy: 'strict', pinned: null } as const;
    try {
      await proveHostKey({ ...question, signal });
      return session.hostKey;
    } catch (error) {
      if (isEarly(error) && !signal.aborted) return pending(explain(error));
      if (error instanceof HostKeyRejected) throw new StepFailed('no proof', { cause: error });
      throw error;
    }
  });

export const CHANGING: readonly ConformanceStep[] = [roundTrip, reboot, power, reinstall];
