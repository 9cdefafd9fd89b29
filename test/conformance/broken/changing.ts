import type { DriverMachine } from '../../../src/adapters/provider/port.ts';
import { TAG_PREFIX, type Tags } from '../../../src/domain/provisioning/provider-tags.ts';
import { type Broken, fails, showing } from './broken.ts';

export const BROKEN_CHANGING: readonly Broken[] = [
  fails('tag-changes', 'keeps tags of ours that should be gone', (provider) => ({
    setTags: async (id, tags, o) => {
      const { tags: before = {} } = await provider.getMachine(id, o);
      await provider.setTags(id, { ...before, ...tags }, o);
    },
  })),
  fails('tag-changes', 'takes tags of others away', (provider) => {
    let isChanged = false;
    return {
      ...showing((machine) => (isChanged ? { ...machine, tags: ownOf(machine) } : machine))(
        provider,
      ),
      setTags: async (id, tags, o) => {
        await provider.setTags(id, tags, o);
        isChanged = true;
      },
    };
  }),
  fails('tag-changes', 'forgets tags that are set', (provider) => ({
    setTags: async (id, _tags, o) => void (await provider.getMachine(id, o)),
  })),
  fails('tag-changes', 'keeps tags to itself', (provider) => {
    const kept = new Map<string, Tags>();
    const shown = (machine: DriverMachine): DriverMachine => ({
      ...machine,
      tags: { ...machine.tags, ...kept.get(machine.id ?? '') },
    });
    return {
      ...showing(shown)(provider),
      setTags: async (id, tags, o) => {
        await provider.getMachine(id, o);
        kept.set(id, tags);
      },
    };
  }),
  fails('reboot', 'accepts a reboot and does nothing', { faults: [{ fault: 'reboot-ignored' }] }),
  fails('power', 'does not switch off', () => ({
    setPower: async () => ({ operationRef: 'none' }),
  })),
  fails(
    'power',
    'lies about the power',
    showing((machine) => ({ ...machine, power: 'on' })),
  ),
  fails('reinstall', 'does not install anew', () => ({
    reinstallMachine: async () => ({ operationRef: 'none' }),
  })),
  fails('reinstall', 'installs anew without the new secret', (provider) => ({
    reinstallMachine: (id, request, o) =>
      provider.reinstallMachine(id, { ...request, initCommand: '#!/bin/sh\n' }, o),
  })),
  fails('reinstall', 'installs anew and keeps the old tags', (provider) => ({
    reinstallMachine: async (id, request, o) => {
      const { tags = {} } = await provider.getMachine(id, o);
      return provider.reinstallMachine(id, { ...request, tags }, o);
    },
  })),
];

const ownOf = ({ tags = {} }: DriverMachine): Tags =>
  Object.fromEntries(Object.entries(tags).filter(([key]) => key.startsWith(TAG_PREFIX)));
