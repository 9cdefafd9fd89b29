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
  recovery: {
    claiming: ['claiming', 'awaitingBoot', 'recording', 'givingUp', 'ended'],
    asking: ['claiming', 'asking', 'recording', 'rereading', 'ended'],
    awaitingBoot: ['claiming', 'asking', 'awaitingBoot', 'rereading', 'ended'],
    recording: ['claiming', 'asking', 'awaitingBoot', 'recording', 'ended'],
    givingUp: ['claiming', 'asking', 'awaitingBoot', 'recording', 'givingUp', 'ended'],
    rereading: ['claiming', 'asking', 'awaitingBoot', 'recording', 'givingUp', 'rereading'],
    ended: ['claiming', 'asking', 'awaitingBoot', 'recording', 'givingUp', 'rereading'],
  },
  deprovision: onlyOnwards('claiming', 'asking', 'awaitingGone', 'awaitingReusable', 'recording'),
};

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

/** The one event that may open each step that touches the world for good. */
const ONLY_AFTER: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  takeover: {
    connecting: 'xstate.done.actor.claimStart',
    verifying: 'xstate.done.actor.connect',
    uploading: 'xstate.done.actor.verifyHost',
    executing: 'xstate.done.actor.upload',
    recording: 'xstate.done.actor.execute',
  },
  recovery: {
    rebooting: 'xstate.done.actor.claimRecovery',
    awaitingBoot: 'xstate.done.actor.askReboot',
    recording: 'xstate.done.actor.awaitBoot',
  },
  deprovision: {
    asking: 'xstate.done.actor.claimDeprovision',
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
      Object.keys(node.states).length === 0 ? node.key : restOf(node.initial.target[0]!);

    test('the table speaks of the chart', () => {
      expect(Object.keys(forbidden).toSorted()).toEqual(leaves.map(({ key }) => key).toSorted());
    });

    test.each(Object.keys(forbidden))('%s: nothing forbidden follows in the chart', (from) => {
      const straight = transitionsOf(chart).filter(
        ({ source, target }) =>
          source.key === from && target?.some((node) => forbidden[from]!.includes(restOf(node))),
      );
      expect(straight.map(nameOf)).toEqual([]);
    });

    test.each(Object.entries(ONLY_AFTER[chart.id]!))('%s is entered by %s alone', (step, only) => {
      const entries = transitionsOf(chart).filter(({ target }) =>
        target?.some(({ key }) => key === step),
      );
      expect(entries.map(({ eventType }) => eventType)).toEqual([only]);
    });

    test.each(leaves.map(({ key }) => key))(
      '%s: a live actor takes no forbidden step',
      async (from) => {
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
      },
    );

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

const leafOf = ({ _nodes }: ChartSnapshot): string =>
  _nodes.find(({ states }) => Object.keys(states).length === 0)!.key;

/** Success and failure of every slot of the chart. */
const everyEnd = ({ slots }: Subject): EventObject[] =>
  Object.keys(slots).flatMap((id) => [
    { type: `xstate.done.actor.${id}`, actorId: id, output: null },
    { type: `xstate.error.actor.${id}`, actorId: id, error: new Unreachable('scripted fault') },
  ]);
