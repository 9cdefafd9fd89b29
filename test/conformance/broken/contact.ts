import type { CreateRequest } from '../../../src/adapters/provider/port.ts';
import { type Broken, refuse, showing, creating } from './broken.ts';

const OTHER_KEY =
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKCrmSbMpRYZ0hRpdQyYgFGV8nT9Qw2tBQG0vKD4x2Cn other';

export const BROKEN_CONTACT: readonly Broken[] = [
  {
    what: 'installs another key than ours',
    step: 'ssh',
    says: /not within 2s; last: .*refused/,
    change: creating((provider, request, o) =>
      provider.createMachine({ ...request, publicKey: OTHER_KEY }, o),
    ),
  },
  {
    what: 'never gives an address',
    step: 'ssh',
    says: /not within 2s; last: it has no address yet/,
    change: showing((machine) => ({ ...machine, address: null })),
  },
  {
    what: 'shows an address that is another machine’s',
    step: 'ssh',
    says: /not within 2s/,
    change: showing((machine) => ({ ...machine, address: '127.0.0.1:1' })),
  },
  {
    what: 'makes machines that fail',
    step: 'ssh',
    says: /says that the machine failed/,
    faults: [{ fault: 'failed-at-boot', operation: 'create' }],
  },
  {
    what: 'has machines with a wrong secret',
    step: 'host-key',
    says: /bad instance secret/,
    change: creating((provider, request, o) => {
      const initCommand = request.initCommand.replace(/printf %s \w+/, 'printf %s guessed');
      return provider.createMachine({ ...request, initCommand }, o);
    }),
  },
  {
    what: 'does not run the init command',
    step: 'host-key',
    says: /not within 2s; last: .*exited with 127/,
    change: creating((provider, request, o) =>
      provider.createMachine({ ...request, initCommand: '#!/bin/sh\n' }, o),
    ),
  },
  {
    what: 'vouches for any host key',
    step: 'host-key',
    says: /verifyHostKey of a wrong key: succeeded instead of conflict/,
    without: [],
    change: () => ({ verifyHostKey: async () => undefined }),
  },
  {
    what: 'denies the right host key',
    step: 'host-key',
    says: /the provider knows another host key/,
    without: [],
    change: () => ({ verifyHostKey: refuse('conflict') }),
  },
  {
    what: 'vouches for host keys without saying so',
    step: 'host-key',
    says: /verifyHostKey: succeeded instead of not-implemented/,
    change: () => ({ verifyHostKey: async () => undefined }),
  },
  {
    what: 'has machines whose host key changes by itself',
    step: 'boot',
    says: /the host key changed/,
    change(provider) {
      let calls = 0;
      let installed: Partial<CreateRequest> = {};
      return {
        async verifyHostKey({ id, tags }, _key, o) {
          calls += 1;
          // Only the end of the step before asks past the core.
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
    },
  },
];
