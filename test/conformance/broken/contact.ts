import type { CreateRequest } from '../../../src/adapters/provider/port.ts';
import { type Broken, fails, refuse, showing, creating } from './broken.ts';

const OTHER_KEY =
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKCrmSbMpRYZ0hRpdQyYgFGV8nT9Qw2tBQG0vKD4x2Cn other';

export const BROKEN_CONTACT: readonly Broken[] = [
  fails(
    'ssh',
    'installs another key than ours',
    creating((provider, request, o) =>
      provider.createMachine({ ...request, publicKey: OTHER_KEY }, o),
    ),
  ),
  fails(
    'ssh',
    'never gives an address',
    showing((machine) => ({ ...machine, address: null })),
  ),
  fails(
    'ssh',
    'shows an address that is another machine’s',
    showing((machine) => ({ ...machine, address: '127.0.0.1:1' })),
  ),
  fails('ssh', 'makes machines that fail', {
    faults: [{ fault: 'failed-at-boot', operation: 'create' }],
  }),
  fails(
    'host-key',
    'has machines with a wrong secret',
    creating((provider, request, o) => {
      const initCommand = request.initCommand.replace(/printf %s \w+/, 'printf %s guessed');
      return provider.createMachine({ ...request, initCommand }, o);
    }),
  ),
  fails(
    'host-key',
    'does not run the init command',
    creating((provider, request, o) =>
      provider.createMachine({ ...request, initCommand: '#!/bin/sh\n' }, o),
    ),
  ),
  fails('host-key', 'vouches for any host key', {
    without: [],
    change: () => ({ verifyHostKey: async () => undefined }),
  }),
  fails('host-key', 'denies the right host key', {
    without: [],
    change: () => ({ verifyHostKey: refuse('conflict') }),
  }),
  fails('host-key', 'vouches for host keys without saying so', () => ({
    verifyHostKey: async () => undefined,
  })),
  fails('boot', 'has machines whose host key changes by itself', (provider) => {
    let calls = 0;
    let installed: Partial<CreateRequest> = {};
    return {
      async verifyHostKey({ id, tags }, _key, o) {
        calls += 1;
        // Only the end of the previous step calls the driver without the core.
        if (calls === 1) {
          const request = { image: null, tags, initCommand: '', publicKey: '' };
          await provider.reinstallMachine(id!, { ...request, ...installed }, o);
        }
        await refuse('not-implemented')();
      },
      ...creating((_, request, o) => {
        const { publicKey, initCommand } = request;
        installed = { publicKey, initCommand: `${initCommand}\n` };
        return provider.createMachine(request, o);
      })(provider),
    };
  }),
];
