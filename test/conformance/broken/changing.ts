import type { DriverMachine } from '../../../src/adapters/provider/port.ts';
import { IDLE_TAG, TAG_PREFIX, type Tags } from '../../../src/domain/provisioning/provider-tags.ts';
import { type Broken, showing } from './broken.ts';

export const BROKEN_CHANGING: readonly Broken[] = [
  {
    what: 'keeps tags of ours that should be gone',
    step: 'tag-changes',
    says: new RegExp(`tag ${IDLE_TAG} should be gone`),
    change: (provider) => ({
      setTags: async (id, tags, o) => {
        const { tags: before = {} } = await provider.getMachine(id, o);
        await provider.setTags(id, { ...before, ...tags }, o);
      },
    }),
  },
  {
    what: 'takes tags of others away',
    step: 'tag-changes',
    says: /tag conformance-test is lost/,
    change(provider) {
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
    },
  },
  {
    what: 'forgets tags that are set',
    step: 'tag-changes',
    says: new RegExp(`tag ${IDLE_TAG} is lost`),
    change: (provider) => ({
      setTags: async (id, _tags, o) => void (await provider.getMachine(id, o)),
    }),
  },
  {
    what: 'keeps tags to itself',
    step: 'tag-changes',
    says: new RegExp(`tag ${IDLE_TAG} is lost`),
    change(provider) {
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
    },
  },
  {
    what: 'accepts a reboot and does nothing',
    step: 'reboot',
    says: /the boot id never changed/,
    faults: [{ fault: 'reboot-ignored' }],
  },
  {
    what: 'does not switch off',
    step: 'power',
    says: /SSH still answers/,
    change: () => ({ setPower: async () => ({ operationRef: 'none' }) }),
  },
  {
    what: 'lies about the power',
    step: 'power',
    says: /still shows it as on/,
    change: showing((machine) => ({ ...machine, power: 'on' })),
  },
  {
    what: 'does not install anew',
    step: 'reinstall',
    says: /the host key is the same/,
    change: () => ({ reinstallMachine: async () => ({ operationRef: 'none' }) }),
  },
  {
    what: 'installs anew without the new secret',
    step: 'reinstall',
    says: /bad instance secret|not within/,
    change: (provider) => ({
      reinstallMachine: (id, request, o) =>
        provider.reinstallMachine(id, { ...request, initCommand: '#!/bin/sh\n' }, o),
    }),
  },
  {
    what: 'installs anew and keeps the old tags',
    step: 'reinstall',
    says: /bad instance secret/,
    change: (provider) => ({
      reinstallMachine: async (id, request, o) => {
        const { tags = {} } = await provider.getMachine(id, o);
        return provider.reinstallMachine(id, { ...request, tags }, o);
      },
    }),
  },
];

const ownOf = ({ tags = {} }: DriverMachine): Tags =>
  Object.fromEntries(Object.entries(tags).filter(([key]) => key.startsWith(TAG_PREFIX)));
