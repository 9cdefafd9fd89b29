import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import { migrate } from '../../src/adapters/bmdb/schema/migrate.ts';
import { silentLog } from '../../src/adapters/log/port.ts';
import { startTestPostgres } from '../support/postgres.ts';

/** A PostgreSQL that can be restarted, perhaps with another port. */
export interface RestartablePostgres {
  port(): number;
  /** URL for daemons with the given (proxy's) port instead of the server's. */
  daemonUrl(port: number): string;
  /**
   * Runs one statement on its own connection as the owner, and repeats it while the server is away.
   */
  sql<Row>(text: string, values?: readonly unknown[]): Promise<Row[]>;
  /** `immediate`: without a shutdown, so that it must recover at its start. */
  restart(how: 'fast' | 'immediate'): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a server on a directory and migrates it. Committed data survives a restart. */
export async function startRestartablePostgres(dataDir: string): Promise<RestartablePostgres> {
  let server = await startTestPostgres(dataDir);
  let client: pg.Client | null = null;
  await migrate(server.ownerUrl, silentLog, { grantTo: server.role });

  async function query<Row>(text: string, values: readonly unknown[]): Promise<Row[]> {
    if (!client) {
      const fresh = new pg.Client({ connectionString: server.ownerUrl, query_timeout: 20_000 });
      fresh.on('error', () => undefined);
      await fresh.connect();
      client = fresh;
    }
    return (await client.query(text, [...values])).rows as Row[];
  }
  const disconnect = async () => {
    const left = client;
    client = null;
    await left?.end().catch(() => undefined);
  };
  const sql = async <Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> => {
    for (let attempts = 1; ; attempts += 1) {
      try {
        return await query<Row>(text, values);
      } catch (error) {
        if (attempts === 100 || !isAway(error)) throw error;
        await disconnect();
        await setTimeout(100);
      }
    }
  };
  // The test is about dying processes, not power cuts, so nothing waits for the disk.
  await sql(`ALTER SYSTEM SET fsync = off`);
  await sql(`ALTER SYSTEM SET full_page_writes = off`);
  await sql(`SELECT pg_reload_conf()`);

  const port = () => Number(new URL(server.url).port);
  return {
    port,
    daemonUrl: (through) => withPort(server.url, through),
    sql,
    async restart(how) {
      if (how === 'immediate') await quit(join(dataDir, 'cluster', 'postmaster.pid'));
      await server.stop();
      await disconnect();
      server = await startTestPostgres(dataDir);
    },
    async stop() {
      await disconnect();
      await server.stop();
    },
  };
}

function withPort(url: string, port: number): string {
  const changed = new URL(url);
  changed.port = String(port);
  return changed.href;
}

/** No SQLSTATE: the connection failed; class 57P: the server stops or starts. */
const isAway = (error: unknown): boolean => {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return !/^[0-9A-Z]{5}$/.test(code) || code.startsWith('57P') || code.startsWith('08');
};

async function quit(pidFile: string): Promise<void> {
  const pid = Number.parseInt(await readFile(pidFile, 'utf8'), 10);
  process.kill(pid, 'SIGQUIT');
  const isThere = () => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };
  for (let looks = 0; looks < 400 && isThere(); looks += 1) await setTimeout(25);
}
