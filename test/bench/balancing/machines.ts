import { machineId } from '../../../src/domain/ids.ts';
import { pool } from '../../domain/balancing/pool.ts';
import { serve } from '../../support/balancing-stand.ts';

export const PORTS = [80, 443, 8_080];
export const poolOfThree = pool({
  ports: PORTS.map((external) => ({
    name: `p${external}`,
    external,
    internal: external + 10_000,
    check: { by: 'tcp' },
  })),
  addresses: ['192.0.2.10'],
});

export const idOf = (at: number) =>
  machineId(`00000000-0000-4000-8000-${String(at).padStart(12, '0')}`);

/** This many machines that should serve. */
export const served = (machines: number) =>
  Array.from({ length: machines }, (_, at) => serve(idOf(at), `10.0.${at >> 8}.${at & 255}`));
