import { describe, expect, it } from 'vitest';
import { providerName } from '../../src/domain/ids.ts';
import { MINUTE, NOTHING_COUNTED, PROVIDER, providedOf } from './bmdb-rows.ts';
import { SIGNAL, STEADY } from './bmdb-stage.ts';
import type { BmdbStage } from './bmdb-stage.ts';
import { agentTags, installing } from './bmdb-vectors.ts';

/**
 * The tests of `statisticsOf` say what counts as what. Another test compares the SQL with that
 * function for random rows.
 */
export function inspectionContract(s: BmdbStage): void {
  const { add, now } = s;
  const statistics = () => s.h.bmdb.inspection.statistics(SIGNAL);

  describe('statistics', () => {
    it('count machines by condition, for the fleet and each provider, each part separately', async () => {
      expect(await statistics()).toEqual({ fleet: NOTHING_COUNTED, providers: new Map() });
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
      const conditions = { ...NOTHING_COUNTED, heartbeating: 1, pendingRecovery: 1 };
      const metal = {
        ...conditions,
        ...{ machines: 3, provided: 3, installationPending: 2, installationFailed: 1 },
      };
      const rest = { installed: 1, pendingAgentStart: 1 };
      const expected = {
        fleet: { ...metal, ...rest, machines: 6, provided: 5 },
        providers: new Map([
          [PROVIDER, metal],
          [other, { ...NOTHING_COUNTED, ...rest, machines: 2, provided: 2 }],
        ]),
      };
      expect(await statistics()).toEqual(expected);
      // Parts that were not requested are 0.
      const { inspection } = s.h.bmdb;
      expect((await inspection.statistics(SIGNAL, 'machines')).fleet).toEqual(expected.fleet);
      expect((await inspection.statistics(SIGNAL, 'work')).fleet).toEqual(NOTHING_COUNTED);
      expect((await inspection.statistics(SIGNAL, 'backoffs')).fleet).toEqual(NOTHING_COUNTED);
    });

    it('count work while its session lives, and waits until they end', async () => {
      const short = await s.openOn(s.h.bmdb, 60_000);
      const [first, second] = [await add(), await add()];
      await s.session.claim('UnitTest1', first);
      await short.claim('UnitTest1', second);
      await short.claim('ShepherdAgentStart', second);
      await (await s.session.claim('UnitTest2', first)).fail(STEADY, 'x');
      const before = (await statistics()).fleet;
      const { activeWork: none } = NOTHING_COUNTED;
      expect(before.activeWork).toEqual({ ...none, UnitTest1: 2, ShepherdAgentStart: 1 });
      expect(before.activeBackoffs).toEqual({ ...none, UnitTest2: 1 });
      expect(before.pendingAgentStart).toBe(1);
      await s.h.expireSession(short.sessionId);
      await s.h.pass(MINUTE + 1);
      const { fleet, providers } = await statistics();
      expect(fleet.activeWork).toEqual({ ...none, UnitTest1: 1 });
      expect(fleet.activeBackoffs).toEqual(none);
      expect(providers.get(PROVIDER)).toEqual(fleet);
      await short.close();
    });
  });
}
