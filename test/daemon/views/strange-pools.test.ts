import { expect, test } from 'vitest';
import { watchStrangePools } from '../../../src/daemon/views/pool-summaries.ts';
import { newPool, type PoolRow } from '../../../src/domain/balancing/pool-row.ts';
import { pool as poolOf } from '../../domain/balancing/pool.ts';
import { recordingLog } from '../../doubles/recording-log.ts';
import { sessionId } from '../../../src/domain/ids.ts';
import type { SlotFacts } from '../../../src/domain/machine.ts';
import type { LeaseRow } from '../../../src/domain/daemons.ts';
import { machineRow, memberRow, SLOT, slotFacts } from '../../support/facts.ts';

const DAEMON = sessionId('00000000-0000-4000-8000-00000000000d');
const rowOf = (pool: string): PoolRow => newPool({ pool, balancer: 'edge' });

test('reports a pool with members that is not configured here once', () => {
  const log = recordingLog();
  let rows: readonly PoolRow[] = [];
  let leases: readonly LeaseRow[] = [];
  let facts: readonly SlotFacts[] = [];
  const look = watchStrangePools({
    pools: [poolOf({ pool: 'api', balancers: ['edge'] })],
    mirror: {
      pools: () => rows,
      leases: () => leases,
      facts: () => new Map(facts.map((each) => [SLOT, each])),
    },
    log,
  });
  const warned = () =>
    log.lines.filter(({ level }) => level === 'warn').map(({ fields }) => fields);
  look();
  expect(warned()).toEqual([]);
  const serving = (pool: string) => memberRow({ pool, balancer: 'edge' });
  facts = [
    slotFacts({
      row: machineRow({
        members: [serving('api'), serving('web'), { ...serving('gone'), state: 'drained' }],
      }),
    }),
  ];
  rows = ['api', 'web', 'gone', 'empty'].map(rowOf);
  const web = { name: 'pool/edge/web', sessionId: DAEMON };
  leases = [{ ...web, held: true }];
  look();
  expect(warned(), 'while another daemon tends it').toEqual([]);
  leases = [{ ...web, held: false }];
  look();
  expect(warned()).toEqual([{ pool: 'web', balancer: 'edge', members: 1 }]);
  rows = [...rows];
  look();
  expect(warned()).toHaveLength(1);
});
