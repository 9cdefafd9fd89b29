import type { AnyStateNode, EventObject } from 'xstate';
import { describe, expect, test } from 'vitest';
import { Unreachable } from '../../src/domain/errors.ts';
import { mayRest, nameOf, nodesOf, transitionsOf } from '../support/chart-map.ts';
import { explore, type ChartSnapshot, type Path, type Subject } from '../support/replay.ts';
import { deprovisionSubject, recoverySubject, takeoverSubject } from './subjects.ts';

/**
 * Written by hand, from what a task must guarantee: the steps that each step must never be followed
 * by. So nothing runs on a host that was not verified, and nothing is recorded that did not happen.
 */
const FORBIDDEN: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  takeover: {
    claiming: ['claiming', 'verifying', 'uploading', 'executing', 'recording', 'givingUp', 'ended'],
    connecting: [
      'claiming',
      'connecting',
      'uploading',
      'executing',
      'recording',
      'rereading',
      'ended',
    ],
    verifying: [
      'claiming',
      'connecting',
      'verifying',
      'executing',
      'recording',
      'rereading',
      'ended',
    ],
    uploading: [
      'claiming',
      'connecting',
      'verifying',
      'uploading',
      'recording',
      'rereading',
      'ended',
    ],
    executing: [
      'claiming',
      'connecting',
      'verifying',
      'uploading',
      'executing',
      'rereading',
      'ended',
    ],
    recording: [
      'claiming',
      'connecting',
      'verifying',
      'uploading',
      'executing',
      'recording',
      'ended',
    ],
    givingUp: [
      'claiming',
      'connecting',
      'verifying',
      'uploading',
      'executing',
      'recording',
      'ended',
    ],
    rereading: [
      'claiming',
      'connecting',
      'verifying',
      'uploading',
      'executing',
      'recording',
      'givingUp',
    ],
    ended: [
      'claiming',
      'connecting',
      'verifying',
      'uploading',
      'executing',
      'recording',
      'rereading',
    ],
  },
  recovery: allBut({
    claiming: [
      ...['restartingAgent.connecting', 'rebooting.asking', 'powerCycling.switchingOff'],
      ...['reinstalling.asking', 'rereading'],
    ],
    'restartingAgent.connecting': [
      ...['restartingAgent.stopping', 'rebooting.asking', 'powerCycling.switchingOff', 'givingUp'],
    ],
    'restartingAgent.stopping': ['recording', 'givingUp'],
    'rebooting.asking': ['rebooting.awaitingBoot', 'givingUp'],
    'rebooting.awaitingBoot': ['recording', 'givingUp'],
    'powerCycling.switchingOff': ['powerCycling.awaitingOff', 'powerCycling.restoringPower'],
    'powerCycling.awaitingOff': ['powerCycling.switchingOn', 'powerCycling.restoringPower'],
    'powerCycling.switchingOn': ['powerCycling.awaitingBoot', 'powerCycling.restoringPower'],
    'powerCycling.awaitingBoot': ['recording', 'givingUp'],
    'powerCycling.restoringPower': ['givingUp'],
    'reinstalling.asking': ['reinstalling.awaitingSystem', 'givingUp'],
    'reinstalling.awaitingSystem': ['recording', 'givingUp'],
    recording: ['rereading', 'givingUp'],
    givingUp: ['rereading'],
    rereading: ['ended'],
    ended: ['ended'],
  }),
  deprovision: onlyOnwards(
    ...['claiming', 'endingAgent', 'asking', 'awaitingGone', 'awaitingReusable', 'recording'],
  ),
};

/** For each step those that may follow; all others are forbidden. */
function allBut(
  allowed: Readonly<Record<string, readonly string[]>>,
): Readonly<Record<string, readonly string[]>> {
  const all = Object.keys(allowed);
  return Object.fromEntries(
    all.map((step) => [step, all.filter((other) => !allowed[step]!.includes(other))]),
  );
}

/**
 * A task without a way back: each step leads to the next, or to giving up; the claim, before which
 * nothing was done, straight to the end; the last step to the end too.
 */
function onlyOnwards(...steps: readonly string[]): Readonly<Record<string, readonly string[]>> {
  const all = [...steps, 'givingUp', 'rereading', 'ended'];
  const barring = (...allowed: readonly (string | undefined)[]) =>
    all.filter((step) => !allowed.includes(step));
  const last = steps.length - 1;
  const rows = steps.map((step, at) => [
    step,
    at === 0
      ? barring(steps[1], 'rereading')
      : barring(steps[at + 1], 'givingUp', ...(at === last ? ['rereading'] : [])),
  ]);
  return {
    ...(Object.fromEntries(rows) as Record<string, readonly string[]>),
    givingUp: barring('rereading'),
    rereading: barring('ended'),
    ended: barring('ended'),
  };
}

/** The only events that may open each step that touches the world for good. */
const ONLY_AFTER: Readonly<Record<string, Readonly<Record<string, string | string[]>>>> = {
  takeover: {
    connecting: 'xstate.done.actor.claimStart',
    verifying: 'xstate.done.actor.connect',
    uploading: 'xstate.done.actor.verifyHost',
    executing: 'xstate.done.actor.upload',
    recording: 'xstate.done.actor.execute',
  },
  recovery: {
    restartingAgent: 'xstate.done.actor.claimRecovery',
    'restartingAgent.stopping': 'xstate.done.actor.reachAgent',
    'rebooting.awaitingBoot': 'xstate.done.actor.askReboot',
    'powerCycling.awaitingOff': 'xstate.done.actor.switchOff',
    'powerCycling.switchingOn': 'xstate.done.actor.awaitOff',
    'powerCycling.awaitingBoot': 'xstate.done.actor.switchOn',
    reinstalling: 'xstate.done.actor.claimRecovery',
    'reinstalling.awaitingSystem': 'xstate.done.actor.askReinstall',
    rebooting: ['xstate.done.actor.claimRecovery', 'xstate.done.actor.reachAgent'],
    powerCycling: ['xstate.done.actor.claimRecovery', 'xstate.done.actor.reachAgent'],
    recording: [
      ...['xstate.done.actor.stopAgent', 'xstate.done.actor.awaitBoot'],
      'xstate.done.actor.awaitSystem',
    ],
  },
  deprovision: {
    endingAgent: 'xstate.done.actor.claimDeprovision',
    asking: 'xstate.done.actor.endAgent',
    awaitingGone: 'xstate.done.actor.askDestroy',
    awaitingReusable: 'xstate.done.actor.awaitGone',
    recording: 'xstate.done.actor.awaitReusable',
  },
};

describe.each([takeoverSubject, recoverySubject, deprovisionSubject])(
  '$chart.id',
  (subject: Subject) => {
    const explored = explore(subject);
    const { chart } = explored;
    const forbidden = FORBIDDEN[chart.id]!;
    const leaves = nodesOf(chart).filter(mayRest);
    /** Where a transition into a node comes to rest. */
    const restOf = (node: AnyStateNode): string =>
      Object.keys(node.states).length === 0 ? pathOf(node) : restOf(node.initial.target[0]!);

    test('the table speaks of the chart', () => {
      expect(Object.keys(forbidden).toSorted()).toEqual(leaves.map(pathOf).toSorted());
    });

    test.each(Object.keys(forbidden))('%s: nothing forbidden follows in the chart', (from) => {
      const straight = transitionsOf(chart).filter(
        ({ source, target }) =>
          pathOf(source) === from &&
          target?.some((node) => forbidden[from]!.includes(restOf(node))),
      );
      expect(straight.map(nameOf)).toEqual([]);
    });

    test.each(Object.entries(ONLY_AFTER[chart.id]!))('%s is entered by %s alone', (step, only) => {
      const entries = transitionsOf(chart).filter(({ target }) =>
        target?.some((node) => pathOf(node) === step),
      );
      expect(new Set(entries.map(({ eventType }) => eventType))).toEqual(new Set([only].flat()));
    });

    test.each(leaves.map(pathOf))('%s: a live actor takes no forbidden step', async (from) => {
      const path = pathTo(from);
      for (const event of everyEnd(subject)) {
        const run = await explored.reach(path);
        const running = [...run.stage.live.keys()];
        const [, , , id = ''] = event.type.split('.');
        if (running.includes(id)) await run.play(event);
        else if (run.snapshot().status === 'active' && event.type.includes('done'))
          await run.send(event);
        const to = leafOf(run.snapshot());
        if (running.includes(id)) expect(forbidden[from], event.type).not.toContain(to);
        else expect(to, `${event.type} of a slot that does not run`).toBe(from);
        await run.stop();
      }
    });

    const endOf = (path: Path) => leafOf(path.steps.at(-1)?.snapshot ?? path.initial);
    function pathTo(leaf: string): Path {
      const [first] = explored.paths;
      const start: Path = { initial: first!.initial, steps: [] };
      const found = [start, ...explored.paths].find((path) => endOf(path) === leaf);
      if (!found) throw new Error(`no path to ${leaf}`);
      return found;
    }
  },
);

const pathOf = ({ path }: AnyStateNode): string => path.join('.');

const leafOf = ({ _nodes }: ChartSnapshot): string =>
  pathOf(_nodes.find(({ states }) => Object.keys(states).length === 0)!);

/** Success and failure of every slot of the chart. */
const everyEnd = ({ slots }: Subject): EventObject[] =>
  Object.keys(slots).flatMap((id) => [
    ...(slots[id]!.done ?? []).map((output) => ({
      ...{ type: `xstate.done.actor.${id}`, actorId: id, output: output ?? null },
    })),
    { type: `xstate.error.actor.${id}`, actorId: id, error: new Unreachable('scripted fault') },
  ]);
