import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';

const portMin = 10_240;
const attemptsMax = 100;
/** Until then whoever took a port listens there, however busy the computer is. */
const CLAIM_MS = 15 * 60_000;

/**
 * Finds a port nobody listens on and adds it to `taken`. It must come back after each reboot, so it
 * lies below the ports that the system gives to outgoing connections: one of those, held by an agent
 * or a client, would keep it from us. Not from the seeded source of chance: two simulators with one
 * seed would choose the same ports. No other process that asks here is given the port for a while,
 * though nobody listens there yet.
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
 * Claims a port before the other processes of this computer, by a name that goes with the process
 * (an abstract socket). @returns false: another one has it. Where there are no such names, everybody has it.
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
