import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';

const portMin = 10_240;
const attemptsMax = 100;
/** By then, the program that took a port listens on it, even on a busy computer. */
const CLAIM_MS = 15 * 60_000;

/**
 * Finds a port nobody listens on and adds it to `taken`. The same port is needed after each reboot.
 * So it lies below the ports for outgoing connections, which an agent's or client's connection
 * could occupy. The choice does not use the seeded random source, because two simulators with one
 * seed would choose the same ports. For a while, no other process that calls this function gets the
 * port, even though nobody listens there yet.
 */
export async function takeFreePort(
  taken: Set<number>,
  choose: (from: number, end: number) => number = (from, end) => randomInt(from, end),
): Promise<number> {
  const portEnd = firstEphemeralPort();
  for (let attempt = 0; attempt < attemptsMax && portEnd > portMin; attempt += 1) {
    const port = choose(portMin, portEnd);
    if (taken.has(port)) continue;
    taken.add(port);
    if ((await claim(port)) && (await isPortFree(port))) return port;
    taken.delete(port);
  }
  const port = await tryPort(0);
  taken.add(port);
  return port;
}

/**
 * Claims a port against the other processes of this computer, by an abstract socket, which ends
 * with the process. @returns false if another process has it. On systems without abstract sockets,
 * always true.
 */
async function claim(port: number): Promise<boolean> {
  const name = createServer();
  try {
    await new Promise<void>((resolve, reject) => {
      name.once('error', reject);
      name.listen(`\0shepherd-port-${port}`, resolve);
    });
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'EADDRINUSE';
  }
  name.unref();
  setTimeout(() => name.close(), CLAIM_MS).unref();
  return true;
}

/** Whether we could listen there now. @param address 127.0.0.1 when absent. */
export const isPortFree = (port: number, address?: string) =>
  tryPort(port, address).then(
    () => true,
    () => false,
  );

async function tryPort(wanted: number, address = '127.0.0.1'): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(wanted, address, resolve);
  });
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const usualFirstEphemeralPort = 32_768;

function firstEphemeralPort(): number {
  try {
    return Number.parseInt(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8'), 10);
  } catch {
    return usualFirstEphemeralPort;
  }
}
