/**
 * Serves the page of `web/` with hot reload, in front of the console of a simulated fleet.
 *
 *   npm run dev                                   six machines
 *   npm run dev -- --machines 40 --chaos          any options of `shepherd sim`
 *   PORT=8080 npm run dev                         another port than 5173
 *
 * Ctrl-C ends both.
 */
import { once } from 'node:events';
import { join } from 'node:path';
import { createServer } from 'vite';
import { startSimulator } from './simulator.ts';

/** Addresses that the console answers itself. All others are the page. */
const CONSOLE = ['/api', '/login', '/docs', '/runbooks', '/metrics', '/livez', '/readyz'];

const interrupted = Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
const args = process.argv.slice(2);
const simulator = await startSimulator(args.length > 0 ? args : ['--machines', '6']);
const { origin, hash } = new URL(simulator.link);
const root = join(import.meta.dirname, '../web');
const server = await createServer({
  ...{ root, configFile: join(root, 'vite.config.ts'), logLevel: 'warn' },
  server: {
    ...{ host: '127.0.0.1', port: Number(process.env['PORT'] ?? 5173) },
    proxy: Object.fromEntries(CONSOLE.map((path) => [path, origin])),
  },
});
try {
  await server.listen();
  console.log(`page with hot reload: ${server.resolvedUrls!.local[0]}login${hash}`);
  await Promise.race([interrupted, simulator.ended]);
} finally {
  await server.close();
  await simulator.stop();
}
