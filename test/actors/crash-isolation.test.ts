import type { AnyActorRef, InspectionEvent } from 'xstate';
import { describe, expect, test } from 'vitest';
import type { RequestedThing } from '../../src/adapters/bmdb/port.ts';
import { providerName, slotIdOf, type Slot } from '../../src/domain/ids.ts';
import { deprovision } from '../../src/machines/deprovision.ts';
import { lifecycle } from '../../src/machines/lifecycle.ts';
import { recovery } from '../../src/machines/recovery.ts';
import { agentStart } from '../../src/machines/agent-start.ts';
import { PROVIDER } from '../support/facts.ts';
import { createSmallWorld } from '../support/small-world.ts';
import type { SimulatedMachine, SmallWorld, SmallWorldOptions } from '../support/small-world.ts';
import { advance } from '../doubles/simulated-clock.ts';

/**
 * A bug in one machine's actor, injected while each service of each of its charts runs. The first
 * run has no bug and finds the services; then one run per service has the bug.
 */
const MINUTE = 60_000;
const MACHINES = 3;

interface CrashScene {
  readonly world: SmallWorld;
  readonly victim: Slot;
  readonly host: () => SimulatedMachine;
}

interface Scenario {
  readonly name: string;
  /** Starts before the machines exist. */
  readonly fromTheStart?: boolean;
  readonly options?: SmallWorldOptions;
  /** Brings the victim into the scenario. */
  readonly play: (scene: CrashScene) => void | Promise<void>;
  /** Lets the victim recover at last. */
  readonly heal?: (scene: CrashScene) => void;
}

const addressOf = ({ world, victim }: CrashScene) => world.views.get(victim)?.address ?? null;

const off = { attempts: 0 };
const POWER_CYCLES_FIRST: SmallWorldOptions = { ladder: { restartingAgent: off, rebooting: off } };

/** Submits an operator request for the victim. */
const ask =
  (thing: (target: { slotId: string; machineId: null }) => Record<string, unknown>) =>
  async ({ world, victim }: CrashScene) => {
    const machineId = world.views.get(victim)!.machineId;
    const target = { provider: PROVIDER, slotId: slotIdOf(victim), machineId };
    await world.bmdb.requests.submit({
      key: `test ${victim}`,
      by: 'ann',
      reason: 'test',
      what: { target, ...thing(target as never) } as unknown as RequestedThing,
    });
  };

const SCENARIOS: readonly Scenario[] = [
  { name: 'comes up', fromTheStart: true, play: () => undefined },
  {
    name: 'refuses our key at first',
    fromTheStart: true,
    async play(scene) {
      await until(scene.world, () => addressOf(scene) !== null);
      scene.host().refusesKey = true;
    },
    heal: ({ host }) => (host().refusesKey = false),
  },
  { name: 'loses its agent', play: ({ host }) => host().killAgent() },
  {
    name: 'hangs',
    play: ({ host }) => {
      host().killAgent();
      host().unreachable = true;
    },
  },
  { name: 'is to be held', play: ask(() => ({ verb: 'hold', kind: 'preserve', untilMs: null })) },
  { name: 'is to be rebooted', play: ask(() => ({ verb: 'reboot', force: false })) },
  { name: 'is to be given back', play: ask(() => ({ verb: 'deprovision', returnToPool: true })) },
  { name: 'is to be installed anew', play: ask(() => ({ verb: 'reinstall' })) },
  {
    name: 'is power cycled',
    options: POWER_CYCLES_FIRST,
    play: ({ host }) => {
      host().killAgent();
      host().unreachable = true;
    },
  },
  {
    name: 'hides its power',
    options: { ...POWER_CYCLES_FIRST, hasControllers: true },
    play({ world, victim, host }) {
      host().killAgent();
      host().unreachable = true;
      world.provider.powerUnknown.add(world.views.get(victim)!.providerId!);
    },
  },
  {
    name: 'hangs behind a controller that hangs',
    options: { ...POWER_CYCLES_FIRST, hasControllers: true },
    play({ world, victim, host }) {
      host().killAgent();
      host().unreachable = true;
      world.provider.hung.add(world.views.get(victim)!.providerId!);
    },
    heal: ({ world }) => world.provider.hung.clear(),
  },
];

let world: SmallWorld;
let actor: Awaited<ReturnType<SmallWorld['fleet']>>;

/** Sees every actor of every machine start, and may strike the actor's machine. */
interface Watch {
  readonly started: { readonly machine: string; readonly service: string }[];
  /** How often each machine's own actor was spawned. */
  readonly spawned: Map<string, number>;
  strikeAt: string | null;
  victim: string | null;
}

const machineOf = (ref: AnyActorRef | undefined): AnyActorRef | null => {
  for (let each = ref; each; each = each._parent) if (each.id.includes('/')) return each;
  return null;
};

/** News with a view that breaks every reader: for the chart, a bug. */
const BUG = {
  type: 'machine.observed',
  get view(): never {
    throw new TypeError('a bug');
  },
};

function watching(watch: Watch) {
  return (event: InspectionEvent) => {
    if (event.type !== '@xstate.actor') return;
    const ref = event.actorRef as AnyActorRef;
    const machine = machineOf(ref);
    if (!machine) return;
    if (machine === ref) {
      watch.spawned.set(ref.id, (watch.spawned.get(ref.id) ?? 0) + 1);
      return;
    }
    watch.started.push({ machine: machine.id, service: ref.id });
    if (machine.id !== watch.victim || ref.id !== watch.strikeAt) return;
    watch.strikeAt = null;
    queueMicrotask(() => machine.send(BUG));
  };
}

async function until(within: SmallWorld, holds: () => boolean, limitMs = 240 * MINUTE) {
  for (let waitedMs = 0; waitedMs < limitMs; waitedMs += 1_000) {
    if (holds()) return;
    await advance(within.clock, 1_000);
  }
  throw new Error(`it never held: ${JSON.stringify([...within.views.values()])}`);
}

const isWell = (slot: Slot): boolean => {
  const view = world.views.get(slot);
  return view?.state === 'Running' && view.substate === 'healthy';
};
const allWell = () =>
  world.views.size === MACHINES && [...world.views.keys()].every((each) => isWell(each as Slot));

/** Plays the scenario, with a strike at the start of one service or without one. */
async function run(scenario: Scenario, strikeAt: string | null): Promise<Watch> {
  const watch: Watch = { started: [], spawned: new Map(), strikeAt: null, victim: null };
  world = createSmallWorld({ machines: MACHINES, inspect: watching(watch), ...scenario.options });
  const victim = `${providerName(PROVIDER)}/${world.provider.reservationIds()[0]!}` as Slot;
  const host = () => world.hosts.get(addressed(world.views.get(victim)!.address!))!;
  const scene = { world, victim, host };
  watch.victim = victim;
  if (scenario.fromTheStart) watch.strikeAt = strikeAt;
  actor = await world.fleet();
  if (!scenario.fromTheStart) {
    await until(world, allWell);
    // Past the guard's grace.
    await advance(world.clock, 15 * MINUTE);
    watch.started.length = 0;
    watch.strikeAt = strikeAt;
  }
  await scenario.play(scene);
  await advance(world.clock, 25 * MINUTE);
  scenario.heal?.(scene);
  await until(world, allWell);
  return watch;
}

const addressed = (address: string) => (address.includes(':') ? address : `${address}:22`);

const servicesOf = (watch: Watch) => [
  ...new Set(
    watch.started.filter(({ machine }) => machine === watch.victim).map(({ service }) => service),
  ),
];

const covered = new Set<string>();

describe.each(SCENARIOS)('a machine that $name', (scenario) => {
  test('is well in the end, also with a bug in any service', async () => {
    const undisturbed = await run(scenario, null);
    actor.send({ type: 'fleet.stop' });
    await advance(world.clock, MINUTE);
    world.end();
    const services = servicesOf(undisturbed);
    expect(services.length).toBeGreaterThan(0);
    for (const service of services) {
      covered.add(service);
      const watch = await run(scenario, service);
      const seen = `${scenario.name}, at ${service}`;
      expect(watch.strikeAt, `${seen}: it struck`).toBeNull();
      expect(watch.spawned.get(watch.victim!), `${seen}: it came back`).toBeGreaterThan(1);
      for (const [machine, times] of watch.spawned) {
        if (machine !== watch.victim) expect(times, `${seen}: ${machine} did not notice`).toBe(1);
      }
      const crashes = world.log.lines.filter(({ message }) =>
        message.includes("machine's actor crashed"),
      );
      expect(crashes, `${seen}: reported`).toHaveLength(1);
      expect(world.metrics.total('shepherd_actor_crashes_total'), `${seen}: counted`).toBe(1);
      expect(world.bmdb.tables.work, `${seen}: nothing is held`).toEqual([]);
      expect(world.taskPool.busy, `${seen}: no turn is open`).toBe(0);
      actor.send({ type: 'fleet.stop' });
      await advance(world.clock, MINUTE);
      world.end();
    }
  });
});

test('strikes every service of every chart of a machine', () => {
  const charts = [lifecycle, agentStart, recovery, deprovision];
  const all = charts.flatMap(({ implementations }) => Object.keys(implementations.actors));
  expect(all.filter((service) => !covered.has(service))).toEqual([]);
});
