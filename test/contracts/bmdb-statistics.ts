import { describe, expect, it } from 'vitest';
import { providerName } from '../../src/domain/ids.ts';
import type { Counts } from '../../src/domain/statistics.ts';
import { MINUTE, PROVIDER, providedOf } from './bmdb-rows.ts';
import { SIGNAL, STEADY } from './bmdb-stage.ts';
import type { Stage } from './bmdb-stage.ts';
import { agentTags, installing } from './bmdb-vectors.ts';

const NOTHING: Counts = {
  machines: 0,
  provided: 0,
  heartbeating: 0,
  installationPending: 0,
  installed: 0,
  installationFailed: 0,
  pendingAgentStart: 0,
  pendingRecovery: 0,
  activeWork: none(),
  activeBackoffs: none(),
};
function none(): Counts['activeWork'] {
  return {
    UnitTest1: 0,
    UnitTest2: 0,
    ShepherdAccess: 0,
    ShepherdAgentStart: 0,
    ShepherdRecovery: 0,
    ShepherdReinstall: 0,
    ShepherdDeprovision: 0,
  };
}

export function statisticsContract(s: Stage): void {
  const { add, now, openOn } = s;
  const statistics = () => s.h.bmdb.inspection.statistics(SIGNAL);

  describe('statistics', () => {
    it('of nothing are nothing', async () => {
      expect(await statistics()).toEqual({ fleet: NOTHING, providers: new Map() });
    });

    it('count machines by their condition, the fleet and each provider', async () => {
      const at = await now();
      const other = providerName('other');
      await add({ provided: null });
      await add({ ...agentTags(at, 40, 5), ...installing([1, null]) });
      await add({ ...agentTags(at, 40, 15), ...installing([2, 1]) });
      await add({ ...agentTags(at, 5, 40), ...installing([1, 1, 'Error']) });
      await add({
        ...agentTags(at, 40, 40),
        ...installing([3, 3]),
        provided: providedOf('elsewhere', { provider: other }),
      });
      await add({ provided: providedOf('fresh', { provider: other }) });
      const { fleet, providers } = await statistics();
      expect(fleet).toEqual({
        ...NOTHING,
        machines: 6,
        provided: 5,
        heartbeating: 1,
        installationPending: 2,
        installed: 1,
        installationFailed: 1,
        pendingAgentStart: 1,
        pendingRecovery: 1,
      });
      expect(providers).toEqual(
        new Map([
          [
            PROVIDER,
            {
              ...NOTHING,
              machines: 3,
              provided: 3,
              heartbeating: 1,
              pendingRecovery: 1,
              installationPending: 2,
              installationFailed: 1,
            },
          ],
          [other, { ...NOTHING, machines: 2, provided: 2, installed: 1, pendingAgentStart: 1 }],
        ]),
      );
    });

    it('V52 vector A: nine machines, each of another kind', async () => {
      // A moment longer than thirty minutes ago, as it is when somebody counts.
      const at = (await now()) - 1;
      const started = agentTags(at, 30, null);
      const healthy = agentTags(at, 30, 1);
      await add();
      for (const tags of [started, started, started, healthy]) await add(tags);
      await add({ ...healthy, ...installing([10, null]) });
      await add({ ...healthy, ...installing([10, 9]) });
      await add({ ...started, ...installing([10, null]) });
      await add({ ...agentTags(at, 30, 20), ...installing([10, 10]) });
      const expected = {
        ...NOTHING,
        machines: 9,
        provided: 9,
        heartbeating: 3,
        installationPending: 3,
        installed: 1,
        pendingAgentStart: 1,
        pendingRecovery: 4,
      };
      expect((await statistics()).fleet).toEqual(expected);
      // Each part is read by itself, and what was not asked for is 0.
      const { inspection } = s.h.bmdb;
      expect((await inspection.statistics(SIGNAL, 'machines')).fleet).toEqual(expected);
      const idle = await inspection.statistics(SIGNAL, 'work');
      expect(idle).toEqual({ fleet: NOTHING, providers: expect.any(Map) as Map<string, Counts> });
      expect((await inspection.statistics(SIGNAL, 'backoffs')).fleet).toEqual(NOTHING);
    });

    it('count work while its session lives, and waits until they end', async () => {
      const short = await openOn(s.h.bmdb, 60_000);
      const [first, second] = [await add(), await add()];
      await s.session.claim('UnitTest1', first);
      await short.claim('UnitTest1', second);
      await short.claim('ShepherdAgentStart', second);
      await (await s.session.claim('UnitTest2', first)).fail(STEADY, 'x');
      const before = (await statistics()).fleet;
      expect(before.activeWork).toEqual({ ...none(), UnitTest1: 2, ShepherdAgentStart: 1 });
      expect(before.activeBackoffs).toEqual({ ...none(), UnitTest2: 1 });
      expect(before.pendingAgentStart).toBe(1);
      await s.h.expireSession(short.sessionId);
      await s.h.pass(MINUTE + 1);
      const { fleet, providers } = await statistics();
      expect(fleet.activeWork).toEqual({ ...none(), UnitTest1: 1 });
      expect(fleet.activeBackoffs).toEqual(none());
      expect(providers.get(PROVIDER)).toEqual(fleet);
      await short.close();
    });
  });
}
