import type { Journal } from '../kit/journal.ts';
import type { ManualClock } from '../kit/clock.ts';
import { addStranger } from './api/server-create.ts';
import type { Core } from './core.ts';
import { AT_ONCE, type Fault, type FaultEffect, isAtOnce, parseFaultRule } from './fault-rules.ts';
import type { Life } from './life/life.ts';
import { paperAddress } from './life/server-machines.ts';
import type { LatitudeEmulator, ServerSnapshot } from './options.ts';
import { changeKnobs } from './state/knobs.ts';
import { isThere, type Server, subjectOf } from './state/world.ts';

export type Controls = Omit<
  LatitudeEmulator,
  'url' | 'token' | 'otherToken' | 'project' | 'adminUrl' | 'adminToken' | 'close'
>;

export interface ControlsDeps {
  readonly core: Core;
  readonly life: Life;
  readonly journal: Journal;
  /** Paths with placeholders, for faults to name. */
  readonly routes: readonly string[];
  readonly manual: ManualClock | null;
  readonly newToken: () => string;
}

/** The emulator seen from the inside: what a library user may read and do. */
export function createControls(deps: ControlsDeps): Controls {
  const { core, life, journal, routes, manual } = deps;
  const { world, faults, clock, knobs } = core;
  const known = { routes, projects: world.projects.map(({ id }) => id) };
  const there = () => [...world.servers.values()].filter((one) => isThere(one, clock.now()));
  let moved = 0;

  /** What happens when the rule is made, and is over then. */
  function happen(server: Server, effect: FaultEffect): void {
    if (effect.type === 'locked') server.locked = true;
    if (effect.type === 'addressChanges')
      server.address = effect.to ?? paperAddress(--moved + 65_536);
    if (effect.type === 'movedProject') server.projectId = effect.to;
    if (effect.type === 'scheduledDeletion') {
      life.scheduleRemoval(server, clock.now() + effect.afterMs);
    }
  }

  return {
    teams: () =>
      world.teams.map(({ id, name }) => ({
        ...{ id, name },
        projects: world.projects
          .filter(({ teamId }) => teamId === id)
          .map((one) => ({
            ...{ id: one.id, slug: one.name, provisioningType: one.provisioningType },
          })),
      })),
    servers: () => there().map(snapshotOf),
    userData: () =>
      [...world.userData.values()]
        .filter((one) => isThere(one, clock.now()))
        .map(({ id, projectId: project, description, content }) => ({
          ...{ id, project, description, contentLength: content.length },
        })),
    stock: () =>
      Object.fromEntries(
        [...world.stock].map(([plan, sites]) => [plan, Object.fromEntries(sites)]),
      ),
    setStock(plan, site, count) {
      const sites = world.stock.get(plan);
      if (!sites?.has(site)) throw new Error(`there is no plan ${plan} at ${site}`);
      sites.set(site, count);
    },
    requests: (afterSeq = 0) => journal.since(afterSeq),
    addFault(input): Fault {
      const rule = faults.add(parseFaultRule(input, known));
      const { effect } = rule;
      if (isAtOnce(effect.type)) {
        for (const server of there()) {
          for (const hit of faults.strike(AT_ONCE, subjectOf(server))) happen(server, hit.effect);
        }
      }
      if (effect.type === 'stranger' && effect.hostname !== undefined) {
        addStranger(core, { hostname: effect.hostname });
        faults.remove(rule.id);
      }
      return { ...rule };
    },
    faults: faults.list,
    removeFault: faults.remove,
    clearFaults: faults.clear,
    setKnobs: (changes) => ({ ...changeKnobs(knobs, changes) }),
    issueToken() {
      const token = deps.newToken();
      const revoking = faults.list().filter(({ effect }) => effect.type === 'tokenRevoked');
      const spares = revoking.map(({ id }) => id);
      world.keys.push({ token, teamId: world.teams[0]!.id, spares });
      return token;
    },
    now: clock.now,
    async advance(ms) {
      if (!manual) throw new Error('the clock is not manual: it cannot be advanced');
      const targetMs = manual.now() + ms;
      while (manual.stepTowards(targetMs)) await life.settled();
      await life.settled();
    },
  };
}

const snapshotOf = (server: Server): ServerSnapshot => ({
  id: server.id,
  hostname: server.hostname,
  project: server.projectId,
  plan: server.plan,
  site: server.site,
  status: server.status,
  billing: server.billing,
  address: server.address,
  locked: server.locked,
  operatingSystem: server.deploy.operatingSystem,
  raid: server.deploy.raid,
  userData: server.deploy.userData,
  sshKeys: server.deploy.sshKeys,
  createdAtMs: server.createdAtMs,
  scheduledDeletionAtMs: server.scheduledDeletionAtMs,
});
