import { systemClock, systemRandom } from '../../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../../src/adapters/log/port.ts';
import { parseSshKey } from '../../../src/adapters/ssh/key-file.ts';
import { createSsh2Shell } from '../../../src/adapters/ssh/ssh2-shell.ts';
import { createSimulatedHosts } from '../../../emulators/hosts/simulated-hosts.ts';
import { rawKey } from '../../adapters/ssh/keys.ts';
import { uploadOf } from '../../contracts/upload-of.ts';

/**
 * A simulator in its own process, to be killed: starts one machine in the directory given on the
 * command line, starts a detached agent on it, prints the agent's pid and stays.
 */
const [, , dir = ''] = process.argv;
const live = new AbortController().signal;
const hosts = createSimulatedHosts({ dir, log: silentLog, random: systemRandom });
const key = parseSshKey(rawKey(), 'key');
const device = { id: 'a', hostname: 'a', authorizedKeys: [key.publicLine] };
const { address: host, sshPort: port } = await hosts.assign(device);
await hosts.up('a');
const shell = createSsh2Shell({ signers: [key], clock: systemClock, log: silentLog });
const session = await shell.connect({ host, port, username: 'root' }, live);
const script = '#!/bin/sh\nsleep 1000 < /dev/null > /dev/null 2>&1 &\n';
await session.upload('/root/agent', uploadOf(Buffer.from(script)), live);
await session.execute(['/root/agent'], Buffer.alloc(0), live);
const { agentPids, bootId } = hosts.list()[0]!;
console.log(JSON.stringify({ port, bootId, pid: agentPids[0] }));
