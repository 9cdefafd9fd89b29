import { mutationsOf } from './mutation.ts';

/** The emulator of BMCs. */
export const mutations = mutationsOf`
emulators/redfish/power.ts test/emulators/redfish/behaviours.test.ts test/emulators/redfish/machines.test.ts
  bmc-once-for-ever: [-enabled === 'Once' && !isSticky-]{+false+}
  bmc-runs-though-host-failed: [-end === undefined && -]system.progress === started
  bmc-hung-system-heeds: } else if ([-heeds !== false-]{+true+}) then();
  bmc-nothing-boots-at-start: system.power = 'On';[-\n      handOver(bmc, system);-]
  bmc-sessions-outlive-restart: [-bmc.sessions.clear();-]
emulators/redfish/machines/machines.ts test/emulators/redfish/machines.test.ts
  bmc-half-installed-boots: [-    machine.isInstalled = false;\n-]
  bmc-installer-outlives-power: [-        end(machineOf(system));\n-]
  bmc-refusal-is-asked-again: [-if (error instanceof SeedRefused) throw error;-]
emulators/redfish/resources/changes.ts test/emulators/redfish/behaviours.test.ts
  bmc-settings-are-optional: [-'Boot' in input && vendor.bootInSettings-]{+false+}
  bmc-half-an-override: [-name.startsWith(OVERRIDE)-]{+name === null+}
emulators/redfish/api.ts test/emulators/redfish/behaviours.test.ts
  bmc-no-login-needed: if ([-!OPEN.includes(\`\${method} \${route}\`)-]{+false+})
  bmc-systems-before-the-root: [-route === ROOT-]{+true+}) return;
emulators/redfish/resources/resources.ts test/emulators/redfish/behaviours.test.ts
  bmc-if-match-unheeded: [-requireMatch(resource, rack, call);-]
emulators/redfish/resources/input.ts test/emulators/redfish/behaviours.test.ts
  bmc-read-only-is-unknown: [-Object.hasOwn(shownAs, property)-]{+false+}
  bmc-null-fits-everything: [-rule.endsWith('?')-]{+true+} ? null
  bmc-any-type-fits: return [-rule.startsWith(typeof value)-]{+true+} ? null : 'TypeError';
emulators/redfish/resources/sessions.ts test/emulators/redfish/behaviours.test.ts
  bmc-sessions-without-end: size >[-=-] SESSIONS_MAX
  bmc-sessions-never-time-out: [-TIMEOUT_S * 1000-]{+Infinity+}
emulators/redfish/resources/media.ts test/emulators/redfish/behaviours.test.ts
  bmc-two-discs-in-one: [-if (media.image !== null) throw refusal(409, 'ResourceInUse');\n-]
  bmc-nothing-refused: [-!mediaRefuses.includes(name)-]{+true+}
`;
