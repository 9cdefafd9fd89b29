/** The machine of docs/writing-a-provider.md: an SSH server, and a directory as its disk. Copied beside the toy driver. */
import { spawn, spawnSync } from 'node:child_process';
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import ssh2, { type AuthContext, type Connection, type Session } from 'ssh2';
import { INSTANCE_SECRET_PATH } from '../../../../src/domain/provisioning/provider-tags.ts';

const BOOT_ID_PATH = '/proc/sys/kernel/random/boot_id';

export interface PretendMachine {
  readonly port: number;
  reboot(): Promise<void>;
  remove(): Promise<void>;
}

export async function bootMachine(order: {
  readonly publicKey: string;
  readonly initCommand: string;
}): Promise<PretendMachine> {
  const disk = await mkdtemp(join(tmpdir(), 'toy-machine-'));
  const onDisk = (command: string) =>
    command
      .replaceAll(dirname(INSTANCE_SECRET_PATH), disk)
      .replaceAll(BOOT_ID_PATH, join(disk, 'boot-id'));
  const writeBootId = () => writeFile(join(disk, 'boot-id'), `${randomUUID()}\n`);
  spawnSync('/bin/sh', { input: onDisk(order.initCommand) });
  await writeBootId();

  const connections = new Set<Connection>();
  const server = new ssh2.Server({ hostKeys: [newHostKey()] }, (connection) => {
    connections.add(connection);
    connection.on('close', () => connections.delete(connection));
    connection.on('error', () => connections.delete(connection));
    connection.on('authentication', (attempt) => {
      if (mayEnter(attempt, order.publicKey)) attempt.accept();
      else attempt.reject(['publickey']);
    });
    connection.on('session', (accept) => serve(accept(), onDisk));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const disconnect = () => connections.forEach((connection) => connection.end());

  return {
    port: (server.address() as AddressInfo).port,
    async reboot() {
      disconnect();
      await writeBootId();
    },
    async remove() {
      server.close();
      disconnect();
      await rm(disk, { recursive: true, force: true });
    },
  };
}

function newHostKey(): string {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return privateKey.export({ type: 'pkcs1', format: 'pem' }) as string;
}

function mayEnter(attempt: AuthContext, publicKey: string): boolean {
  const key = ssh2.utils.parseKey(publicKey);
  if (key instanceof Error || attempt.method !== 'publickey') return false;
  if (!key.getPublicSSH().equals(attempt.key.data)) return false;
  const { blob, signature, hashAlgo } = attempt;
  return !signature || !blob || key.verify(blob, signature, hashAlgo) === true;
}

function serve(session: Session, onDisk: (command: string) => string): void {
  session.on('exec', (accept, _reject, { command }) => {
    const channel = accept();
    const child = spawn('/bin/sh', ['-c', onDisk(command)]);
    channel.pipe(child.stdin);
    child.stdout.pipe(channel, { end: false });
    child.stderr.pipe(channel.stderr, { end: false });
    child.on('close', (code) => {
      channel.exit(code ?? 1);
      channel.end();
    });
  });
}
