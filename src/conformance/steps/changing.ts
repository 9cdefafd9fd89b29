import { proveHostKey } from '../../actors/tasks/host-key-proof.ts';
import { explain, HostKeyRejected, isProviderError } from '../../domain/errors.ts';
import {
  IDLE_TAG,
  SECRET_TAG,
  SET_ID_TAG,
  TAG_PREFIX,
  type Tags,
} from '../../domain/provisioning/provider-tags.ts';
import { callOf, type Stage } from '../stage.ts';
import type { Step } from '../step.ts';
import { must, StepFailed, StepSkipped } from '../verdict.ts';
import { NotInTime, type Pending, pending, shown, until } from '../waiting.ts';
import { bootWait, isEarly, tryBootId, tryConnect } from './contact.ts';
import { assertTags } from './creation.ts';

const roundTrip: Step = {
  id: 'tag-changes',
  title: 'Tags of ours are replaced, others stay, and a second instance sees the same',
  needs: ['tags'],
  takes: ['machine'],
  async run(stage, signal) {
    const { tags } = await stage.refresh(signal);
    const { own, foreign } = split(tags);
    const idle = own[IDLE_TAG] === 'hold' ? 'drain' : 'hold';
    await changeTags(stage, { ...own, [IDLE_TAG]: idle }, foreign, signal);
    await seenElsewhere(stage, { ...foreign, ...own, [IDLE_TAG]: idle }, signal);
    const { [IDLE_TAG]: before, ...rest } = own;
    await changeTags(stage, rest, foreign, signal);
    if (before !== undefined) await changeTags(stage, own, foreign, signal);
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

/** Sets the tags of ours; what is read may be stale for a while. */
async function changeTags(stage: Stage, own: Tags, foreign: Tags, signal: AbortSignal) {
  const { patience } = stage;
  const { raw } = stage.opened();
  const id = stage.machineId();
  must(own[SET_ID_TAG] === stage.subject.setId, 'the machine is not marked as the test’s');
  await stage.raw('SetTags', signal, (options) => raw.setTags(id, own, options));
  const wait = stage.wait({ signal, timeoutMs: patience.syncMs * 2, intervalMs: patience.probeMs });
  await until('the tags that were set', wait, async () => {
    const { tags } = await stage.opened().fleet.getMachine(id, callOf(signal));
    const fault = differenceOf(tags, { ...foreign, ...own });
    return fault === null ? true : pending(fault);
  });
}

function differenceOf(seen: Tags, wanted: Tags): string | null {
  const lost = Object.keys(wanted).find((key) => seen[key] === undefined);
  if (lost !== undefined) return `tag ${lost} is lost`;
  const changed = Object.keys(wanted).find((key) => seen[key] !== wanted[key]);
  if (changed !== undefined) return `tag ${changed} reads back differently`;
  const more = Object.keys(seen).find((key) => !(key in wanted));
  return more === undefined ? null : `tag ${more} should be gone`;
}

async function seenElsewhere(stage: Stage, wanted: Tags, signal: AbortSignal): Promise<void> {
  const second = await stage.open();
  try {
    const { tags } = await second.fleet.getMachine(stage.machineId(), callOf(signal));
    assertTags(tags, wanted);
  } catch (error) {
    if (!isProviderError(error, 'not-found')) throw error;
    throw new StepFailed('a second instance of the driver does not know the machine');
  } finally {
    await second.fleet.stop();
  }
}

const reboot: Step = {
  id: 'reboot',
  title: 'A reboot is done when the boot id has changed',
  needs: ['reboot'],
  destructive: 'existing',
  takes: ['booted'],
  async run(stage, signal) {
    const { fleet } = stage.opened();
    const begun = stage.clock.monotonic();
    for (const mode of ['graceful', 'force'] as const) {
      await fleet.rebootMachine(stage.machineId(), mode, callOf(signal));
      if (await bootIdChanges(stage, signal)) {
        return `${mode}, ${shown(stage.clock.monotonic() - begun)}`;
      }
    }
    throw new StepFailed('accepted twice, and the boot id never changed');
  },
};

/** Waits for a boot; an accepted request proves nothing. False: there was none in time. */
async function bootIdChanges(stage: Stage, signal: AbortSignal): Promise<boolean> {
  const { found, patience } = stage;
  const wait = { ...bootWait(stage, signal), timeoutMs: patience.rebootMs };
  try {
    found.bootId = await until('another boot id', wait, async () => {
      const bootId = await tryBootId(stage, signal);
      return bootId === found.bootId ? pending('the boot id is the same') : bootId;
    });
    return true;
  } catch (error) {
    if (error instanceof NotInTime) return false;
    throw error;
  }
}

const power: Step = {
  id: 'power',
  title: 'The machine is switched off and on again',
  needs: ['power'],
  destructive: 'always',
  takes: ['booted'],
  async run(stage, signal) {
    const { fleet } = stage.opened();
    const id = stage.machineId();
    const wait = { ...bootWait(stage, signal), timeoutMs: stage.patience.rebootMs };
    try {
      await fleet.setPower(id, 'off', callOf(signal));
    } catch (error) {
      // The driver switches machines, and this one has no button.
      if (!isProviderError(error, 'not-implemented')) throw error;
      throw new StepSkipped(`not supported by this machine, and refused so: ${explain(error)}`);
    }
    await until('the machine is off', wait, () => looksOff(stage, signal));
    await fleet.setPower(id, 'on', callOf(signal));
    must(await bootIdChanges(stage, signal), 'it was switched on, and the boot id never changed');
    const { power: state } = await stage.refresh(signal);
    must(state !== 'off', 'it is up, and the provider still shows it as off');
  },
};

async function looksOff(stage: Stage, signal: AbortSignal): Promise<true | Pending> {
  const session = await tryConnect(stage, signal);
  if (!('pending' in session)) {
    session.close();
    return pending('SSH still answers');
  }
  const { power: state } = stage.machine();
  return state === 'on' ? pending('the provider still shows it as on') : true;
}

const reinstall: Step = {
  id: 'reinstall',
  title: 'A reinstallation keeps the id and changes host key, secret and boot id',
  needs: ['reinstall'],
  destructive: 'always',
  takes: ['booted'],
  async run(stage, signal) {
    const { found } = stage;
    const id = stage.machineId();
    const before = { ...found, hash: (await stage.refresh(signal)).tags[SECRET_TAG] };
    await stage.opened().fleet.reinstallMachine(id, callOf(signal));
    const hostKey = await until('the new system', bootWait(stage, signal), () =>
      tryNewSystem(stage, before.hostKey!, signal),
    );
    const { tags, id: now } = stage.machine();
    must(now === id, `the id changed from ${id} to ${now}`);
    must(tags[SECRET_TAG] !== before.hash, 'the secret is the same as before');
    found.hostKey = hostKey;
    found.bootId = await until('the boot probe', bootWait(stage, signal), () =>
      tryBootId(stage, signal),
    );
    must(found.bootId !== before.bootId, 'the boot id is the same as before');
  },
};

/** The old system answers until it is gone, and the new one before it can prove itself. */
async function tryNewSystem(
  stage: Stage,
  oldKey: string,
  signal: AbortSignal,
): Promise<string | Pending> {
  const session = await tryConnect(stage, signal);
  if ('pending' in session) return session;
  try {
    if (session.hostKey === oldKey) return pending('the host key is the same');
    const provider = stage.opened().fleet;
    const machine = stage.machine();
    const question = { provider, machine, session, policy: 'strict', pinned: null } as const;
    await proveHostKey({ ...question, signal });
    return session.hostKey;
  } catch (error) {
    if (isEarly(error) && !signal.aborted) return pending(explain(error));
    if (error instanceof HostKeyRejected) throw new StepFailed('no proof', { cause: error });
    throw error;
  } finally {
    session.close();
  }
}

export const CHANGING: readonly Step[] = [roundTrip, reboot, power, reinstall];
