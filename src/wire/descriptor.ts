// Generated from `proto/` by `npm run proto`. Changes belong there.

export const descriptor = {
  nested: {
    cloud: {
      nested: {
        agent: {
          nested: {
            api: {
              nested: {
                TakeoverInit: {
                  fields: {
                    machineId: { type: 'string', id: 1 },
                    bmaasEndpoint: { type: 'string', id: 2 },
                    caCertificate: { type: 'bytes', id: 3 },
                    throwAway: { type: 'bool', id: 100 },
                  },
                },
                TakeoverSuccess: {
                  fields: {
                    initMessage: { type: 'TakeoverInit', id: 1 },
                    key: { type: 'bytes', id: 2 },
                    warning: { rule: 'repeated', type: 'string', id: 3 },
                  },
                },
                TakeoverError: { fields: { message: { type: 'string', id: 1 } } },
                TakeoverResponse: {
                  oneofs: { result: { oneof: ['success', 'error'] } },
                  fields: {
                    success: { type: 'TakeoverSuccess', id: 1 },
                    error: { type: 'TakeoverError', id: 2 },
                  },
                },
                AgentInit: {
                  fields: {
                    takeoverInit: { type: 'TakeoverInit', id: 1 },
                    privateKey: { type: 'bytes', id: 2 },
                    networkConfig: { type: 'osbase.net.proto.Net', id: 3 },
                  },
                },
                Node: {
                  fields: {
                    manufacturer: { type: 'string', id: 1 },
                    product: { type: 'string', id: 2 },
                    serialNumber: { type: 'string', id: 3 },
                    memoryInstalledBytes: { type: 'int64', id: 8 },
                    memoryUsableRatio: { type: 'float', id: 9 },
                    cpu: { rule: 'repeated', type: 'CPU', id: 10 },
                    blockDevice: { rule: 'repeated', type: 'BlockDevice', id: 11 },
                    networkInterface: { rule: 'repeated', type: 'NetworkInterface', id: 12 },
                    efiSupport: { type: 'EFISupport', id: 13 },
                  },
                  reserved: [[4, 7]],
                },
                CPU: {
                  oneofs: { architecture: { oneof: ['x86_64', 'arm64'] } },
                  fields: {
                    x86_64: { type: 'X86_64', id: 1 },
                    arm64: { type: 'ARM64', id: 16 },
                    cores: { type: 'int32', id: 8 },
                    hardwareThreads: { type: 'int32', id: 9 },
                    vendor: { type: 'string', id: 10 },
                    model: { type: 'string', id: 11 },
                  },
                  reserved: [[2, 7]],
                  nested: {
                    X86_64: {
                      fields: {
                        family: { type: 'int32', id: 1 },
                        model: { type: 'int32', id: 2 },
                        stepping: { type: 'int32', id: 3 },
                      },
                    },
                    ARM64: {
                      fields: {
                        implementer: { type: 'int32', id: 1 },
                        variant: { type: 'int32', id: 2 },
                        part: { type: 'int32', id: 3 },
                        revision: { type: 'int32', id: 4 },
                      },
                    },
                  },
                },
                BlockDevice: {
                  oneofs: {
                    _mediaErrors: { oneof: ['mediaErrors'] },
                    _availableSpareRatio: { oneof: ['availableSpareRatio'] },
                    _usageRatio: { oneof: ['usageRatio'] },
                  },
                  fields: {
                    vendor: { type: 'string', id: 1 },
                    deviceModel: { type: 'string', id: 2 },
                    serialNumber: { type: 'string', id: 3 },
                    wwn: { type: 'bytes', id: 4 },
                    rotational: { type: 'bool', id: 5 },
                    capacityBytes: { type: 'int64', id: 6 },
                    logicalBlockSizeBytes: { type: 'int32', id: 7 },
                    physicalBlockSizeBytes: { type: 'int32', id: 8 },
                    protocol: { type: 'Protocol', id: 9 },
                    criticalWarning: { type: 'bool', id: 10 },
                    mediaErrors: { type: 'int64', id: 11, options: { proto3_optional: true } },
                    availableSpareRatio: {
                      type: 'float',
                      id: 12,
                      options: { proto3_optional: true },
                    },
                    usageRatio: { type: 'float', id: 13, options: { proto3_optional: true } },
                    name: { type: 'string', id: 100 },
                    byId: { rule: 'repeated', type: 'string', id: 101 },
                  },
                  nested: {
                    Protocol: {
                      values: {
                        PROTOCOL_UNKNOWN: 0,
                        PROTOCOL_SCSI: 1,
                        PROTOCOL_ATA: 2,
                        PROTOCOL_NVME: 3,
                        PROTOCOL_MMC: 4,
                      },
                    },
                  },
                },
                NetworkInterface: {
                  fields: {
                    mac: { type: 'bytes', id: 1 },
                    driver: { type: 'string', id: 2 },
                    supportedSpeedBytes: { rule: 'repeated', type: 'int64', id: 3 },
                    linkUp: { type: 'bool', id: 4 },
                    currentSpeedBytes: { type: 'int64', id: 5 },
                    name: { type: 'string', id: 100 },
                  },
                },
                EFISupport: {
                  values: {
                    EFI_SUPPORT_INVALID: 0,
                    EFI_SUPPORT_UNKNOWN: 1,
                    EFI_SUPPORT_UNSUPPORTED: 2,
                    EFI_SUPPORT_SUPPORTED: 3,
                    EFI_SUPPORT_ENABLED: 4,
                  },
                },
              },
            },
          },
        },
        bmaas: {
          nested: {
            server: {
              nested: {
                api: {
                  nested: {
                    AgentCallback: {
                      methods: {
                        Heartbeat: {
                          requestType: 'HeartbeatRequest',
                          responseType: 'HeartbeatResponse',
                        },
                      },
                    },
                    AgentPhase: {
                      values: {
                        AGENT_PHASE_IDLE: 0,
                        AGENT_PHASE_INSTALLING: 1,
                        AGENT_PHASE_REPORTING: 2,
                      },
                    },
                    HeartbeatRequest: {
                      fields: {
                        machineId: { type: 'string', id: 1 },
                        hardwareReport: { type: 'AgentHardwareReport', id: 2 },
                        installationReport: { type: 'OSInstallationReport', id: 3 },
                        bootId: { type: 'string', id: 100 },
                        agentVersion: { type: 'string', id: 101 },
                        phase: { type: 'AgentPhase', id: 102 },
                        uptimeSeconds: { type: 'int64', id: 103 },
                        condition: { rule: 'repeated', type: 'Condition', id: 104 },
                        acceptance: { type: 'AcceptanceResult', id: 105 },
                      },
                    },
                    AcceptanceProfile: {
                      fields: {
                        memoryGib: { type: 'double', id: 1 },
                        cpus: { type: 'uint32', id: 2 },
                        disks: { rule: 'repeated', type: 'Disks', id: 3 },
                        networkMbps: { type: 'double', id: 4 },
                        readMegabytes: { type: 'double', id: 5 },
                      },
                      nested: {
                        Disks: {
                          fields: {
                            sizeGb: { type: 'double', id: 1 },
                            count: { type: 'uint32', id: 2 },
                          },
                        },
                      },
                    },
                    AcceptanceRequest: {
                      fields: {
                        id: { type: 'int64', id: 1 },
                        profile: { type: 'AcceptanceProfile', id: 2 },
                      },
                    },
                    AcceptanceResult: {
                      fields: {
                        id: { type: 'int64', id: 1 },
                        check: { rule: 'repeated', type: 'Check', id: 2 },
                        found: { type: 'AcceptanceProfile', id: 3 },
                      },
                      nested: {
                        Check: {
                          fields: {
                            name: { type: 'string', id: 1 },
                            expected: { type: 'string', id: 2 },
                            found: { type: 'string', id: 3 },
                            status: { type: 'Status', id: 4 },
                          },
                          nested: {
                            Status: {
                              values: { STATUS_UNKNOWN: 0, STATUS_OK: 1, STATUS_FAILED: 2 },
                            },
                          },
                        },
                      },
                    },
                    Condition: {
                      fields: {
                        type: { type: 'string', id: 1 },
                        status: { type: 'Status', id: 2 },
                        reason: { type: 'string', id: 3 },
                        detail: { type: 'string', id: 4 },
                      },
                      nested: {
                        Status: { values: { STATUS_UNKNOWN: 0, STATUS_TRUE: 1, STATUS_FALSE: 2 } },
                      },
                    },
                    HeartbeatResponse: {
                      fields: {
                        installationRequest: { type: 'OSInstallationRequest', id: 1 },
                        heartbeatIntervalSeconds: { type: 'int64', id: 100 },
                        sendHardwareReport: { type: 'bool', id: 101 },
                        reboot: { type: 'bool', id: 102 },
                        clockMs: { type: 'int64', id: 103 },
                        acceptance: { type: 'AcceptanceRequest', id: 104 },
                      },
                    },
                    AgentHardwareReport: {
                      fields: {
                        report: { type: 'cloud.agent.api.Node', id: 1 },
                        warning: { rule: 'repeated', type: 'string', id: 2 },
                      },
                    },
                    OSInstallationReport: {
                      oneofs: { result: { oneof: ['success', 'error'] } },
                      fields: {
                        generation: { type: 'int64', id: 1 },
                        success: { type: 'Success', id: 2 },
                        error: { type: 'Error', id: 3 },
                      },
                      nested: {
                        Success: { fields: {} },
                        Error: { fields: { error: { type: 'string', id: 1 } } },
                      },
                    },
                    OSInstallationRequest: {
                      oneofs: { type: { oneof: ['metropolis', 'genericImage'] } },
                      fields: {
                        generation: { type: 'int64', id: 1 },
                        metropolis: { type: 'MetropolisInstallationRequest', id: 2 },
                        genericImage: { type: 'GenericImageInstallation', id: 16 },
                      },
                    },
                    MetropolisInstallationRequest: {
                      fields: {
                        nodeParameters: { type: 'metropolis.proto.api.NodeParameters', id: 2 },
                        rootDevice: { type: 'string', id: 3 },
                        osImage: { type: 'metropolis.proto.api.OSImageRef', id: 4 },
                      },
                      reserved: [[1, 1]],
                    },
                    RootDeviceSelector: {
                      oneofs: { by: { oneof: ['name', 'serial', 'wwn'] } },
                      fields: {
                        name: { type: 'string', id: 1 },
                        serial: { type: 'string', id: 2 },
                        wwn: { type: 'bytes', id: 3 },
                      },
                    },
                    GenericImageInstallation: {
                      oneofs: { _cloudInit: { oneof: ['cloudInit'] } },
                      fields: {
                        imageUrl: { type: 'string', id: 1 },
                        sha256: { type: 'bytes', id: 2 },
                        compression: { type: 'Compression', id: 3 },
                        rootDevice: { type: 'RootDeviceSelector', id: 4 },
                        cloudInit: { type: 'bytes', id: 5, options: { proto3_optional: true } },
                      },
                      nested: {
                        Compression: {
                          values: {
                            COMPRESSION_NONE: 0,
                            COMPRESSION_GZIP: 1,
                            COMPRESSION_ZSTD: 2,
                            COMPRESSION_XZ: 3,
                          },
                        },
                      },
                    },
                  },
                },
              },
            },
          },
        },
      },
    },
    osbase: {
      nested: {
        net: {
          nested: {
            proto: {
              nested: {
                Net: {
                  fields: {
                    interface: { rule: 'repeated', type: 'Interface', id: 1 },
                    nameserver: { rule: 'repeated', type: 'Nameserver', id: 3 },
                  },
                },
                Nameserver: { fields: { ip: { type: 'string', id: 1 } } },
                Interface: {
                  oneofs: { type: { oneof: ['device', 'bond', 'vlan'] } },
                  fields: {
                    name: { type: 'string', id: 1 },
                    device: { type: 'bytes', id: 3 },
                    bond: { type: 'bytes', id: 4 },
                    vlan: { type: 'bytes', id: 5 },
                    ipv4Autoconfig: { type: 'IPv4Autoconfig', id: 10 },
                    ipv6Autoconfig: { type: 'IPv6Autoconfig', id: 11 },
                    address: { rule: 'repeated', type: 'string', id: 12 },
                    mtu: { type: 'int32', id: 13 },
                    route: { rule: 'repeated', type: 'Route', id: 14 },
                  },
                },
                IPv4Autoconfig: { fields: {} },
                IPv6Autoconfig: {
                  fields: { privacy: { type: 'Privacy', id: 1 } },
                  nested: { Privacy: { values: { DISABLE: 0, AVOID: 1, PREFER: 2 } } },
                },
                Route: {
                  fields: {
                    destination: { type: 'string', id: 1 },
                    gatewayIp: { type: 'string', id: 2 },
                    sourceIp: { type: 'string', id: 3 },
                    metric: { type: 'int32', id: 4 },
                  },
                },
              },
            },
          },
        },
      },
    },
    metropolis: {
      nested: {
        proto: {
          nested: {
            api: {
              nested: {
                OSImageRef: {
                  fields: {
                    scheme: { type: 'string', id: 1 },
                    host: { type: 'string', id: 2 },
                    repository: { type: 'string', id: 3 },
                    tag: { type: 'string', id: 4 },
                    digest: { type: 'string', id: 5 },
                  },
                },
                NodeParameters: {
                  oneofs: { cluster: { oneof: ['clusterBootstrap', 'clusterRegister'] } },
                  fields: {
                    clusterBootstrap: { type: 'bytes', id: 1 },
                    clusterRegister: { type: 'bytes', id: 2 },
                    networkConfig: { type: 'osbase.net.proto.Net', id: 4 },
                  },
                  reserved: [[3, 3]],
                },
              },
            },
          },
        },
      },
    },
  },
};
