import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

export const QEMU = '/usr/bin/qemu-system-x86_64';
const OVMF = '/usr/share/OVMF';

/** A URL: UEFI that boots it once, as a BMC's `UefiHttp` override has it. */
export type Firmware = 'bios' | 'uefi' | { readonly url: string };

export interface QemuMachine {
  /** For its variables and its log. */
  readonly directory: string;
  readonly firmware: Firmware;
  /** Path of a raw image, its only disk, with the serial number `DISK1`. */
  readonly disk: string;
  /** More arguments. */
  readonly more: readonly string[];
}

/**
 * Runs a virtual machine until it restarts or switches off, without KVM. On a user network, the
 * computer's loopback has the address 10.0.2.2.
 * @returns what it wrote to its serial port.
 */
export async function runQemu({ directory, firmware, disk, more }: QemuMachine): Promise<string> {
  const serial = join(directory, 'serial.log');
  closeSync(openSync(serial, 'w'));
  const child = spawn(
    QEMU,
    [
      // A larger buffer of translated code takes memory, and gains nothing.
      ...['-accel', 'tcg,tb-size=128', '-m', '512', '-machine', 'q35', '-cpu', 'max'],
      ...['-display', 'none', '-no-reboot', '-serial', `file:${serial}`],
      ...(firmware === 'bios' ? [] : uefi(directory, firmware)),
      ...['-drive', `if=none,id=disk,format=raw,file=${disk}`],
      ...['-device', 'virtio-blk-pci,drive=disk,serial=DISK1', ...more],
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  onTestFinished(() => void child.kill('SIGKILL'));
  let complaint = '';
  child.stderr.on('data', (text: Buffer) => (complaint += text.toString()));
  const [status] = (await once(child, 'exit')) as [number | null];
  if (status !== 0) throw new Error(`qemu ended with ${status}: ${complaint}`);
  return readFileSync(serial, 'utf8');
}

function uefi(directory: string, firmware: Exclude<Firmware, 'bios'>): string[] {
  const variables = readFileSync(join(OVMF, 'OVMF_VARS_4M.fd'));
  if (firmware !== 'uefi') variables.set(httpBoot(firmware.url), VARIABLES_AT);
  const path = join(directory, 'OVMF_VARS_4M.fd');
  writeFileSync(path, variables);
  const flash = (file: string, more = '') => ['-drive', `if=pflash,format=raw,file=${file}${more}`];
  return [...flash(join(OVMF, 'OVMF_CODE_4M.fd'), ',readonly=on'), ...flash(path)];
}

/** Behind the headers of the volume and of the store, which is empty. */
const VARIABLES_AT = 0x64;
const BOOT_VARIABLES = '61dfe48bca93d211aa0d00e098032b8c';
/** A node for a URI, and the end (UEFI specification, 10.3.4.23 and 10.3.1). */
const URI_NODE = [3, 24] as const;
const END = [0x7f, 0xff, 4, 0] as const;

/** `Boot0000`, which gets a URL, and `BootOrder` (UEFI specification, 3.1.3). */
function httpBoot(url: string): Buffer {
  const node = Buffer.from([...URI_NODE, ...u16(4 + url.length), ...Buffer.from(url), ...END]);
  const name = Buffer.from('HTTP\0', 'utf16le');
  const option = Buffer.from([...u32(1), ...u16(node.length), ...name, ...node]);
  return Buffer.concat([variable('Boot0000', option), variable('BootOrder', Buffer.alloc(2))]);
}

/** As EDK II stores an authenticated variable (MdeModulePkg, AUTHENTICATED_VARIABLE_HEADER). */
function variable(title: string, data: Buffer): Buffer {
  const name = Buffer.from(`${title}\0`, 'utf16le');
  const [added, stays] = [0x3f, 7];
  const head = Buffer.from([...u16(0x55aa), added, 0, ...u32(stays), ...Buffer.alloc(28)]);
  const sizes = Buffer.from([...u32(name.length), ...u32(data.length)]);
  const all = Buffer.concat([head, sizes, Buffer.from(BOOT_VARIABLES, 'hex'), name, data]);
  return Buffer.concat([all, Buffer.alloc(-all.length & 3, 0xff)]);
}

const u16 = (value: number): Buffer => Buffer.from([value & 255, value >> 8]);
const u32 = (value: number): Buffer => Buffer.from([...u16(value & 0xffff), ...u16(value >> 16)]);

/** A network card on a user network. */
export const USER_NETWORK = [
  '-netdev',
  'user,id=net',
  '-device',
  'virtio-net-pci,netdev=net',
] as const;
