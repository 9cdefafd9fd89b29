import { once } from 'node:events';
import path from 'node:path';
import { startAgentServerThread } from '../../../src/adapters/agents/agent-server-thread.ts';
import { createDevCertificates } from '../../../src/adapters/agents/tls-material.ts';
import { systemClock } from '../../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../../src/adapters/log/port.ts';
import { createClientIdentity, generateRawKeyPair } from '../../../src/agent/keys.ts';
import { TUNING } from '../../../src/daemon/tuning.ts';
import { loadFleet } from '../bmdb/fleet.ts';
import { openBmdb } from '../bmdb/world.ts';
import { cpuMs } from '../measure.ts';
import { ask, endChild, startChild } from './children.ts';
import type { BenchServer } from './database.ts';
import type { Caller, LoadRequest } from './load-child.ts';

const NO_LIMIT = { perSecond: 1e9, burst: 1e9 };
const THREAD = new URL('../../../src/daemon/agent-thread.ts', import.meta.url);

/**
 * A daemon's agent server in a thread of this process, with a database, and as many agents in
 * another process, each with a persistent connection.
 */
export async function openHeartbeats(server: BenchServer, agents: number) {
  const database = await server.database();
  const bmdb = openBmdb(database.url);
  const { started } = await database.query((sql) =>
    loadFleet(sql, { free: 0, started: agents, others: 0 }),
  );
  const pairs = started.map(() => generateRawKeyPair());
  await database.query((sql) =>
    sql.query(
      `UPDATE machine_agent_started a SET agent_public_key = u.key
       FROM unnest($1::uuid[], $2::bytea[]) AS u (id, key) WHERE u.id = a.machine_id`,
      [started, pairs.map(({ publicKey }) => Buffer.from(publicKey))],
    ),
  );
  const directory = path.join(server.dir, 'heartbeats');
  const { key, cert, caDer } = await createDevCertificates({ dir: directory, names: [] });
  const front = await startAgentServerThread({
    listen: { host: '127.0.0.1', port: 0 },
    tls: { key, cert },
    clock: systemClock,
    log: silentLog,
    heartbeatIntervalSeconds: 30,
    batch: TUNING.heartbeatBatch,
    // All callers here share one address, and call as fast as they can.
    limits: {
      ...{ connects: NO_LIMIT, callsPerKey: NO_LIMIT },
      ...{ strangersMax: 1e9, strangersPerAddress: 1e9 },
    },
    module: THREAD,
    store: bmdb.heartbeats,
  });
  const callers = await Promise.all(
    started.map(async (id, at): Promise<Caller> => {
      const identity = await createClientIdentity(pairs[at]!);
      return { machineId: id, key: identity.key, certificate: identity.certificate };
    }),
  );
  const child = startChild('load-child.ts');
  const close = async () => {
    const ended = once(child, 'close');
    endChild(child);
    await ended;
    await front.close(0);
    await bmdb.close();
  };
  const trust = `-----BEGIN CERTIFICATE-----\n${Buffer.from(caDer).toString('base64')}\n-----END CERTIFICATE-----\n`;
  const before = { cpuMs: cpuMs(), bytes: process.memoryUsage.rss() };
  const port = Number(front.address.split(':').at(-1));
  await ask(child, { kind: 'open', port, trust, callers } satisfies LoadRequest);
  return {
    /** Cost of the connections and their first heartbeats in this process. */
    opening: {
      connections: agents,
      cpuMsPerHandshake: (cpuMs() - before.cpuMs) / agents,
      memoryKbPerConnection: (process.memoryUsage.rss() - before.bytes) / 1_024 / agents,
    },
    /**
     * Each agent calls again as soon as it is answered. CPU is the daemon's, without the database.
     */
    async measure(spanMs: number) {
      const beforeMs = cpuMs();
      const { all, perSecond } = await ask<{ all: number; perSecond: number }>(child, {
        ...{ kind: 'call', warmMs: spanMs / 2, spanMs },
      } satisfies LoadRequest);
      return { perSecond, cpuUsPerHeartbeat: ((cpuMs() - beforeMs) * 1_000) / all };
    },
    close,
  };
}
