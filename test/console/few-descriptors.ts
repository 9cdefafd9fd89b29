import { descriptorsMax } from '../../src/daemon/real-ports.ts';
import { machineId } from '../../src/domain/ids.ts';
import { startTestServer } from '../adapters/agents/test-server.ts';
import { createMemHeartbeatStore } from '../doubles/mem-heartbeat-store.ts';
import { startScriptedConsole } from './scripted-console.ts';

/** Console and agent server in one process, as in the daemon; `MACHINE KEY` may send heartbeats. */
const [machine = '', key = ''] = process.argv.slice(2);
const store = createMemHeartbeatStore();
const stored = store.start(machineId(machine), Buffer.from(key, 'hex'));
const { server, trust } = await startTestServer({ store });
const { url } = await startScriptedConsole({ descriptorsMax: descriptorsMax() });
process.stdout.write(`${JSON.stringify({ url, address: server.address, trust })}\n`);
process.stdin.on('data', () => process.stdout.write(`${stored.heartbeats}\n`));
