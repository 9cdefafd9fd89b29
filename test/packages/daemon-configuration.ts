import { stringify } from 'yaml';
import { openTestDatabase } from '../support/test-database.ts';

/** The configuration of a daemon that needs a database, and no machines. Its database is `DATABASE_URL`. */
export async function daemonConfiguration(state: string, port: number) {
  const database = await openTestDatabase();
  const racks = { driver: 'static', inventory: 'file:inventory.json' };
  const config = {
    database: { url: '${DATABASE_URL}' },
    providers: { racks: { ...racks, instanceSetId: 'zzzzz-zzzzz-zzzzzzzzzzzzzzz' } },
    ssh: { keyPath: `${state}/ssh-key` },
    agentServer: { listen: '127.0.0.1:0', devCertificates: { dir: `${state}/certificates` } },
    agent: { endpoint: '127.0.0.1:1' },
    console: { listen: `127.0.0.1:${port}` },
  };
  return { yaml: stringify(config), url: database.url, stop: () => database.stop() };
}
