import { spawn } from 'node:child_process';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { readFileSync, watch } from 'node:fs';
import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';

const HOST = '127.0.0.1';
/** Plain letters: its password is also matched in outputs. */
export const IPMI_LOGIN = { username: 'shepherd', password: 'bmcsecret' };
/** As `ipmitool mc guid` prints it for the 16 bytes of the configuration. */
export const IPMI_GUID = 'efcdab89-6745-23a1-efcd-ab89674523a1';

/** Records each request, and is the machine's power. */
const CHASSIS = `#!/bin/sh
cd "$(dirname "$0")" || exit 1
[ "$1" = get ] && { echo "power:$(cat power)"; exit; }
echo "$2 $3" >> done
case "$2" in power) echo "$3" > power ;; shutdown) [ -e deaf ] || echo 0 > power ;; esac
`;

const configOf = (directory: string, port: number) => `name "sim"
set_working_mc 0x20
startlan 1
  addr ${HOST} ${port}
  priv_limit admin
  allowed_auths_operator md5
  allowed_auths_admin md5
  guid a123456789abcdefa123456789abcdef
endlan
chassis_control "${directory}/chassis"
user 2 true "${IPMI_LOGIN.username}" "${IPMI_LOGIN.password}" operator 10 md5
`;
const COMMANDS = `mc_setbmc 0x20
mc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02
mc_enable 0x20
`;
/** RMCP presence ping of ASF 2.0. */
const PING = Buffer.from('0600ff06000011be80000000', 'hex');

async function bind(): Promise<Socket> {
  const socket = createSocket('udp4');
  socket.bind(0, HOST);
  await once(socket, 'listening');
  return socket;
}

/**
 * OpenIPMI's `ipmi_sim`: a BMC on loopback, whose machine is a shell script.
 * @param onRequest receives each request that changes the machine, in order.
 */
export async function startIpmiSim(onRequest: (request: string) => void = () => undefined) {
  const directory = await mkdtemp(join(tmpdir(), 'shepherd-ipmi-'));
  const at = (name: string) => join(directory, name);
  const taken = await bind();
  const { port } = taken.address();
  taken.close();
  await mkdir(at('state'));
  await writeFile(at('chassis'), CHASSIS, { mode: 0o755 });
  await writeFile(at('power'), '1\n');
  await writeFile(at('done'), '');
  await writeFile(at('lan.conf'), configOf(directory, port));
  await writeFile(at('sim.emu'), COMMANDS);
  const done = () => readFileSync(at('done'), 'utf8').split('\n').slice(0, -1);
  let told = 0;
  const watcher = watch(at('done'), () => {
    for (const request of done().slice(told)) {
      told += 1;
      onRequest(request);
    }
  });
  const args = ['-c', at('lan.conf'), '-f', at('sim.emu'), '-s', at('state'), '-n'];
  const child = spawn('ipmi_sim', args, { cwd: directory, stdio: 'ignore' });
  const ended = once(child, 'exit');
  onTestFinished(async () => {
    child.kill();
    await ended;
    watcher.close();
    await rm(directory, { recursive: true });
  });
  await answersPing(port);
  return {
    host: HOST,
    port,
    /** Requests that change the machine, in order. */
    done: (): readonly string[] => done(),
    power: (): string => readFileSync(at('power'), 'utf8').trim(),
    /** The system ignores the shutdown. */
    deafen: () => writeFile(at('deaf'), ''),
  };
}

async function answersPing(port: number): Promise<void> {
  const socket = await bind();
  try {
    let pongs = 0;
    socket.on('message', () => void (pongs += 1));
    await expect.poll(() => (socket.send(PING, port, HOST), pongs)).toBeGreaterThan(0);
  } finally {
    socket.close();
  }
}

/** A network before a BMC that loses all answers as soon as the condition holds. */
export async function startLossyNetwork(bmc: { readonly port: number }, isLossy: () => boolean) {
  const front = await bind();
  const back = await bind();
  onTestFinished(() => void [front, back].map((socket) => socket.close()));
  let client: { readonly port: number; readonly address: string } | null = null;
  let requests = 0;
  front.on('message', (data, from) => {
    client = from;
    requests += 1;
    back.send(data, bmc.port, HOST);
  });
  back.on('message', (data) => {
    if (client && !isLossy()) front.send(data, client.port, client.address);
  });
  return { host: HOST, port: front.address().port, requests: () => requests };
}
