import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { takeFreeAddress } from '../../emulators/hosts/serving/addresses.ts';
import { takeFreePort } from '../../src/adapters/network/free-port.ts';
import { blocksOf, installShepherd } from '../support/document-blocks.ts';
import { hasHaproxyFor, startTestHaproxy } from '../support/haproxy.ts';
import { isProvided } from '../support/programs.ts';
import { shepherd, WAIT } from './commands.ts';
import { AGENT_PATH, mayMakeMachines, startOwnMachine, type OwnMachine } from './own-machine.ts';

const run = promisify(execFile);

const blocks = blocksOf('docs/repair.md');
/** The document's block with this text. */
const blockWith = (text: string): string => {
  const [found, ...more] = blocks.filter((block) => block.text.includes(text));
  expect(more).toEqual([]);
  return found!.text;
};
const [LIST, NOTE, LINK] = blockWith('shepherd case list').split('\n') as [string, string, string];
const CONDITIONS = blockWith('disk-failing: drain');
/** The case in the document's commands. */
const CASE = / 12 /;

const NAMES = ['srv-1', 'srv-2', 'srv-3', 'srv-4'];
const [, SICK] = NAMES as [string, string];
const SICK_SLOT = `rack/${SICK}`;
/** Several times around the pool. */
const REQUESTS = 12;
const LIMIT_MS = 1_200_000;

/** What the reader of the document has: four machines, an HAProxy, and a directory for Shepherd. */
async function openSite() {
  const directory = mkdtempSync(join(tmpdir(), 'repair-document-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const inside = (name: string) => join(directory, name);
  await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', inside('ssh-key')]);
  const ports = new Set<number>();
  const [internal, external] = [await takeFreePort(ports), await takeFreePort(ports)];
  const addresses = new Set<string>();
  const machines = new Map<string, OwnMachine>();
  for (const name of NAMES) {
    const address = await takeFreeAddress(addresses, internal);
    const machine = await startOwnMachine({
      ...{ dir: inside(name), address, port: await takeFreePort(ports) },
      authorizedKey: readFileSync(inside('ssh-key.pub'), 'utf8').trim(),
      disk: { serial: `OLD-${name}`, isFailing: false },
    });
    onTestFinished(machine.stop);
    const server = createServer((_, answer) => answer.end(name)).listen(internal, address);
    onTestFinished(() => void server.close());
    machines.set(name, machine);
  }
  const haproxy = await startTestHaproxy();
  const inventory = [...machines].map(([name, { address, port, hostKey }]) => ({
    ...{ ID: name, Addr: address, SshPort: port, Location: 'rack-7', HostKey: hostKey },
  }));
  writeFileSync(inside('machines.json'), JSON.stringify(inventory));
  const config = {
    fleet: 'eu',
    database: { embedded: { dataDir: 'postgres' } },
    providers: {
      rack: {
        ...{ driver: 'static', instanceSetId: 'rack1-fleet-000000000000001' },
        inventory: 'file:machines.json',
      },
    },
    ssh: { keyPath: 'ssh-key' },
    agent: { targetPath: AGENT_PATH, heartbeatPeriod: '1s' },
    agentServer: { listen: '127.0.0.1:0', devCertificates: { dir: 'certificates' } },
    console: { listen: '127.0.0.1:0' },
    balancers: {
      edge: {
        ...{ driver: 'haproxy', masterSocket: haproxy.masterSocket },
        ...{ poolsDir: haproxy.poolsDir, baseFiles: [haproxy.baseFile] },
      },
    },
    pools: {
      api: {
        ...{ balancers: ['edge'], addresses: ['127.0.0.1'], select: {} },
        ports: { http: { external, internal, check: { http: '/' } } },
      },
    },
  };
  const entries = Object.entries(config).map(([key, value]) => `${key}: ${JSON.stringify(value)}`);
  writeFileSync(inside('shepherd.yaml'), [...entries, CONDITIONS].join('\n'));
  const env = {
    ...process.env,
    ...{ PATH: installShepherd(directory), XDG_CONFIG_HOME: inside('config'), COLUMNS: '200' },
  };
  /** Runs a line of a shell as the reader does. @throws it fails or writes to standard error. */
  const types = async (line: string): Promise<string> => {
    const options = { cwd: directory, env };
    const { stdout, stderr } = await run(
      'bash',
      ['--norc', '-euo', 'pipefail', '-c', line],
      options,
    );
    expect(stderr, line).toBe('');
    return stdout;
  };
  /** Names of the machines that serve clients of the pool, sorted. */
  const serving = async (): Promise<string[]> => {
    const answers = new Set<string>();
    for (let left = REQUESTS; left > 0; left -= 1) answers.add(await answerAt(external));
    return [...answers].toSorted();
  };
  return { config: inside('shepherd.yaml'), sick: machines.get(SICK)!, types, serving };
}

/** The answer over a connection of its own, or why there is none. */
const answerAt = (port: number): Promise<string> =>
  new Promise((resolve) => {
    get({ host: '127.0.0.1', port, agent: false }, (answer) => resolve(text(answer))).on(
      'error',
      ({ message }) => resolve(message),
    );
  });

const showing = (...parts: string[]) => expect.stringMatching(new RegExp(parts.join('[^]*')));

describe.runIf(
  mayMakeMachines() &&
    hasHaproxyFor('the walk through docs/repair.md') &&
    isProvided(existsSync('/usr/sbin/sshd'), { tested: 'the same', by: 'openssh-server' }),
)('docs/repair.md', () => {
  test(
    'leads a machine with a failing disk out of its pool, and back after the repair',
    { timeout: LIMIT_MS },
    async () => {
      const { config, sick, types, serving } = await openSite();
      const daemon = shepherd(['run', '--config', config]);
      onTestFinished(async () => {
        daemon.child.kill('SIGTERM');
        expect((await daemon.ended).code).toBe(0);
      });
      const { console: url } = await daemon.started();
      const login = `shepherd token create ann --role admin --for 720h --config ${config} 2>&1 >token`;
      await types(`${login} && shepherd login ${url} <token`);
      const becomes = async (line: string, ...parts: string[]) => {
        await expect.poll(() => types(line), WAIT).toEqual(showing(...parts));
      };
      await expect.poll(serving, WAIT).toEqual(NAMES);

      // The agent looks when it starts, and every ten minutes.
      sick.setDisk({ serial: `OLD-${SICK}`, isFailing: true });
      await types(`shepherd machine restart-agent ${SICK} --reason 'look at its disk' --wait 5m`);
      await becomes('shepherd machines', `${SICK_SLOT} .*\n +condition disk-failing`);
      await expect.poll(serving, WAIT).toEqual(NAMES.filter((name) => name !== SICK));
      await becomes('shepherd lb status api', `${SICK_SLOT} +drained .*\n +condition disk-failing`);
      expect(await types(`shepherd machine explain ${SICK}`)).toEqual(showing('disk-failing'));

      await becomes(LIST, `${SICK_SLOT} .*disk-failing: .*OLD-${SICK}`);
      const [id] = JSON.parse(await types(`${LIST} -o json`)).cases.map(
        (each: { id: string }) => each.id,
      );
      const aboutIt = (line: string) => line.replace(CASE, ` ${id} `);
      await becomes(
        `shepherd case show ${id}`,
        `disk-failing: sda \\(serial number OLD-${SICK}\\) warns that it fails \\(True\\)`,
        `evidence-before by shepherd\n\\$ cat .*boot_id\n${sick.bootId}\n`,
        '\\$ journalctl -k -n 200',
        '\\$ uptime\n.* up .*load average: ',
        '\\$ systemctl --failed',
      );
      await types(`${aboutIt(NOTE)}\n${aboutIt(LINK)}`);
      const noted = await types(`shepherd case show ${id}`);
      expect(noted).toEqual(showing('ticket +https://', 'note by token:ann\nthe new disk arrives'));

      const accept = (reason: string) => `shepherd machine accept ${SICK} --reason '${reason}'`;
      await types(accept('is it well?'));
      await becomes(`shepherd machine show ${SICK}`, 'acceptance +failed', 'disk-failing failed');
      expect(await serving()).not.toContain(SICK);

      sick.setDisk({ serial: `NEW-${SICK}`, isFailing: false });
      await types(accept('disk replaced'));
      await becomes(`shepherd machine show ${SICK}`, 'acceptance +passed', 'disk-failing ok');
      // At once: the answer has brought what the agent sees now.
      const conditions = await types(`shepherd machine condition list ${SICK}`);
      expect(conditions).not.toMatch(/ True /);
      expect(conditions).toMatch(/disk-failing +False/);
      await expect.poll(serving, WAIT).toEqual(NAMES);
      await becomes('shepherd lb status api', `${SICK_SLOT} +active`);

      await becomes(LIST, '^no cases\n$');
      const closed = await types(`shepherd case show ${id}`);
      expect(closed).toEqual(showing('closed .* by acceptance\noutcome '));
    },
  );
});
