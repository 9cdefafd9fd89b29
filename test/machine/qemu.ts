import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { vi } from 'vitest';
import { PATIENCE } from '../support/patience.ts';
import type { SystemIdentity } from '../../emulators/redfish/options.ts';

export interface MachineOptions {
  readonly identity: SystemIdentity;
  /** Prefix of its files: console's log, sockets. */
  readonly path: string;
  readonly disk: string;
  /** Booted first, if given. */
  readonly cd?: string | undefined;
  /** Port of this computer that leads to the machine's SSH server. */
  readonly sshPort: number;
  readonly uefi: boolean;
}

/** A virtual machine that is on. */
export interface VirtualMachine {
  /** Why it ended: by itself, or by `kill`. */
  readonly ended: Promise<'shutdown' | 'reset' | 'killed'>;
  /** Presses its power button. */
  press(): Promise<void>;
  /** Stops its processor. */
  freeze(): Promise<void>;
  /** Pulls its network cable. */
  cut(): Promise<void>;
  /** As a power cut. */
  kill(): Promise<void>;
  /** Highest resident memory up to now, bytes. */
  memory(): number;
}

/** Address of this computer's loopback inside a machine. */
export const HOST_INSIDE = '10.0.2.2';

const OVMF = '/usr/share/OVMF';
export const MEMORY_MB = 256;
/** GRUB finds too little room beside UEFI's firmware in less. */
const UEFI_MEMORY_MB = 512;
/** Cache of translated code. Its default would take a gigabyte. */
export const CODE_MB = 128;

function argumentsOf(options: MachineOptions): string[] {
  const { identity, path, disk, cd, sshPort, uefi } = options;
  const drive = (id: string, file: string, more: string) => [
    '-drive',
    `if=none,id=${id},file=${file},format=raw,${more}`,
  ];
  const variables = `${path}.vars`;
  if (uefi && !existsSync(variables)) copyFileSync(`${OVMF}/OVMF_VARS_4M.fd`, variables);
  const firmware = (file: string, more: string) => [
    '-drive',
    `if=pflash,format=raw,file=${file}${more}`,
  ];
  return [
    ...['-name', identity.name, '-machine', 'q35', '-accel', `tcg,tb-size=${CODE_MB}`],
    ...[
      '-m',
      String(uefi ? UEFI_MEMORY_MB : MEMORY_MB),
      '-nodefaults',
      '-display',
      'none',
      '-no-reboot',
    ],
    ...['-smbios', `type=1,serial=${identity.serial},uuid=${identity.uuid}`],
    ...['-qmp', `unix:${path}.qmp,server=on,wait=off`],
    ...['-chardev', `file,id=console,path=${path}.console,append=on`, '-serial', 'chardev:console'],
    ...(uefi ? firmware(`${OVMF}/OVMF_CODE_4M.fd`, ',readonly=on') : []),
    ...(uefi ? firmware(variables, '') : []),
    ...drive('disk', disk, 'cache=unsafe'),
    ...['-device', 'virtio-blk-pci,drive=disk,bootindex=2'],
    ...(cd === undefined ? [] : [...drive('cd', cd, 'readonly=on,media=cdrom')]),
    ...(cd === undefined ? [] : ['-device', 'ide-cd,drive=cd,bootindex=1']),
    ...['-netdev', `user,id=net,hostfwd=tcp:127.0.0.1:${sshPort}-:22`],
    ...['-device', `virtio-net-pci,netdev=net,id=nic,mac=${identity.mac},romfile=`],
    ...['-device', 'virtio-rng-pci'],
  ];
}

/** Switches a virtual machine on. @throws {Error} QEMU does not start. */
export async function startQemu(options: MachineOptions): Promise<VirtualMachine> {
  const control = `${options.path}.qmp`;
  rmSync(control, { force: true });
  const child = spawn('qemu-system-x86_64', argumentsOf(options), {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let complaint = '';
  child.stderr.on('data', (chunk: Buffer) => (complaint += chunk.toString()));
  const exited = once(child, 'exit');
  await vi.waitUntil(() => child.exitCode !== null || existsSync(control), PATIENCE);
  if (child.exitCode !== null) throw new Error(`QEMU did not start: ${complaint}`);
  const { ask, end, close } = await openMonitor(control);
  return {
    ended: exited.then(() => (close(), end())),
    press: () => ask('system_powerdown'),
    freeze: () => ask('stop'),
    cut: () => ask('set_link', { name: 'nic', up: false }),
    memory: () => memoryOf(child),
    async kill() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

/** @returns 0 if it has ended. */
export function memoryOf({ pid }: Pick<ChildProcess, 'pid'>): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0) * 1_024;
  } catch {
    return 0;
  }
}

interface Message {
  readonly return?: object;
  readonly error?: { readonly desc: string };
  readonly event?: string;
  readonly data?: { readonly reason?: string };
}

/** A client of the QEMU Machine Protocol. */
async function openMonitor(path: string) {
  const socket: Socket = connect(path);
  await once(socket, 'connect');
  // The program may end while we write.
  socket.on('error', () => undefined);
  const waiting: PromiseWithResolvers<void>[] = [];
  let why = '';
  createInterface(socket).on('line', (line) => {
    const { event, data, error, return: answer } = JSON.parse(line) as Message;
    if (event === 'SHUTDOWN') why = data!.reason!;
    if (error) waiting.shift()!.reject(new Error(error.desc));
    if (answer) waiting.shift()!.resolve();
  });
  socket.on('close', () => {
    for (const { reject } of waiting.splice(0)) reject(new Error('the machine is off'));
  });
  const ask = (execute: string, args: object = {}) => {
    const answered = Promise.withResolvers<void>();
    waiting.push(answered);
    socket.write(`${JSON.stringify({ execute, arguments: args })}\n`);
    return answered.promise;
  };
  const end = () =>
    why === 'guest-reset' ? 'reset' : why === 'guest-shutdown' ? 'shutdown' : 'killed';
  await ask('qmp_capabilities');
  return { ask, end, close: () => socket.destroy() };
}
