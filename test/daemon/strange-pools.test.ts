import { expect, test } from 'vitest';
import { watchStrangePools } from '../../src/daemon/strange-pools.ts';
import { newPool, type PoolRow } from '../../src/domain/balancing/pool-row.ts';
import type { SlotFacts } from '../../src/domain/machine.ts';
import { pool as poolOf } from '../domain/balancing/pool.ts';
import { recordingLog } from '../doubles/recording-log.ts';
import { machineRow, memberRow, SLOT, slotFacts } from '../support/facts.ts';

const rowOf = (pool: string): PoolRow => newPool({ pool, balancer: 'edge' });

test('a pool with members that is not configured here is told of once', () => {
  const log = recordingLog();
  let rows: readonly PoolRow[] = [];
  let facts: readonly SlotFacts[] = [];
  const look = watchStrangePools({
    pools: [poolOf({ pool: 'api', balancers: ['edge'] })],
    mirror: { pools: () => rows, facts: () => new Map(facts.map((each) => [SLOT, each])) },
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
  look();
  expect(warned()).toEqual([{ pool: 'web', balancer: 'edge', members: 1 }]);
  rows = [...rows];
  look();
  expect(warned()).toHaveLength(1);
});
