import type { ManualClock } from '../kit/clock.ts';
import type { Controls } from './admin.ts';
import { type Certificate, issueCertificate } from './certificate.ts';
import type { Core } from './core.ts';
import type { Door } from './door.ts';
import { AT_ONCE, type AtOnce, type Fault, isAtOnce, parseFaultRule } from './fault-rules.ts';
import type { BmcSnapshot, SystemSnapshot } from './options.ts';
import type { FishJournal } from './pipeline.ts';
import type { Power } from './power.ts';
import { liveSessions } from './resources/sessions.ts';
import { systemPath } from './resources/views.ts';
import type { Bmc, System } from './world.ts';

export type { Controls } from './admin.ts';

export interface ControlsDeps {
  readonly core: Core;
  readonly power: Power;
  readonly journal: FishJournal;
  /** In the order of the BMCs. */
  readonly doors: readonly Door[];
  /** Paths with placeholders, for faults to name. */
  readonly routes: readonly string[];
  readonly manual: ManualClock | null;
}

/** The emulator seen from the inside: what a library user may read and do. */
export function createControls(deps: ControlsDeps): Controls {
  const { core, power, journal, doors, manual } = deps;
  const { bmcs, faults, clock } = core;
  const known = {
    routes: deps.routes,
    bmcs: bmcs.map(({ name }) => name),
    systems: bmcs.flatMap(({ systems }) => systems.map(({ name }) => name)),
  };
  const factory = new Map<Door, Certificate>();

  /** The doors as the rules in force want them. */
  async function fitDoors(): Promise<void> {
    const wants = (type: AtOnce, { name }: Bmc) =>
      faults
        .list()
        .some(({ effect, match }) => effect.type === type && (match.bmc ?? name) === name);
    for (const [n, bmc] of bmcs.entries()) {
      const door = doors[n]!;
      await door.setOpen(!wants('refuse', bmc));
      const own = factory.get(door);
      if (wants('certificate', bmc) && !own) {
        factory.set(door, door.certificate());
        door.setCertificate(await issueCertificate(bmc.name));
      } else if (!wants('certificate', bmc) && own) {
        factory.delete(door);
        door.setCertificate(own);
      }
    }
  }
  /** What happens when the rule is made, and is over then. */
  function happen(bmc: Bmc): void {
    const subject = { method: '', route: '', bmc: bmc.name };
    for (const { effect } of faults.strike(AT_ONCE, subject)) {
      if (effect.type === 'sessionsForgotten') bmc.sessions.clear();
      if (effect.type === 'bmcHangs') bmc.isHanging = true;
      if (effect.type === 'bmcRestart') power.restartBmc(bmc, effect.ms);
    }
  }

  return {
    bmcs: () => bmcs.map((bmc, n) => snapshotOf(bmc, doors[n]!, clock.now())),
    requests: (afterSeq = 0) => journal.since(afterSeq),
    async addFault(input): Promise<Fault> {
      const rule = faults.add(parseFaultRule(input, known));
      if (isAtOnce(rule.effect.type)) {
        for (const bmc of bmcs) happen(bmc);
        await fitDoors();
      }
      return { ...rule };
    },
    faults: faults.list,
    async removeFault(id) {
      const isThere = faults.remove(id);
      await fitDoors();
      return isThere;
    },
    async clearFaults() {
      faults.clear();
      await fitDoors();
    },
    reset(name, type) {
      for (const bmc of bmcs) {
        const system = bmc.systems.find((one) => one.name === name);
        if (system) return power.reset(bmc, system, type);
      }
      throw new Error(`there is no system ${name}`);
    },
    now: clock.now,
    async advance(ms) {
      if (!manual) throw new Error('the clock is not manual: it cannot be advanced');
      const targetMs = manual.now() + ms;
      while (manual.stepTowards(targetMs)) await power.settled();
      await power.settled();
    },
  };
}

const snapshotOf = (bmc: Bmc, door: Door, nowMs: number): BmcSnapshot => ({
  name: bmc.name,
  url: door.url,
  certSha256: door.certificate().sha256,
  sessions: liveSessions(bmc, nowMs).size,
  sessionsMost: bmc.sessionsMost,
  requestsMost: bmc.inFlightMax,
  systems: bmc.systems.map(systemSnapshot),
});

const systemSnapshot = (system: System): SystemSnapshot => ({
  name: system.name,
  path: systemPath(system.id),
  serial: system.serial,
  uuid: system.uuid,
  mac: system.mac,
  power: system.power,
  progress: system.progress.state,
  assetTag: system.assetTag,
  boot: { ...system.boot },
  media: system.media.map(({ id, image }) => ({ id, image })),
});
