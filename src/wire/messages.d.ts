import * as $protobuf from "protobufjs/minimal.js";
import Long = require("long");

/** Namespace cloud. */
export namespace cloud {

    /** Namespace agent. */
    namespace agent {

        /** Namespace api. */
        namespace api {

            /**
             * Properties of a TakeoverInit.
             * @deprecated Use cloud.agent.api.TakeoverInit.$Properties instead.
             */
            interface ITakeoverInit extends cloud.agent.api.TakeoverInit.$Properties {
            }

            /** Represents a TakeoverInit. */
            class TakeoverInit {

                /**
                 * Constructs a new TakeoverInit.
                 * @param [properties] Properties to set
                 */
                constructor(properties?: cloud.agent.api.TakeoverInit.$Properties);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];

                /** TakeoverInit machineId. */
                machineId: string;

                /** TakeoverInit bmaasEndpoint. */
                bmaasEndpoint: string;

                /** TakeoverInit caCertificate. */
                caCertificate: Uint8Array;

                /** TakeoverInit throwAway. */
                throwAway: boolean;

                /**
                 * Creates a new TakeoverInit instance using the specified properties.
                 * @param [properties] Properties to set
                 * @returns TakeoverInit instance
                 */
                static create(properties: cloud.agent.api.TakeoverInit.$Shape): cloud.agent.api.TakeoverInit & cloud.agent.api.TakeoverInit.$Shape;
                static create(properties?: cloud.agent.api.TakeoverInit.$Properties): cloud.agent.api.TakeoverInit;

                /**
                 * Encodes the specified TakeoverInit message. Does not implicitly {@link cloud.agent.api.TakeoverInit.verify|verify} messages.
                 * @param message TakeoverInit message or plain object to encode
                 * @param [writer] Writer to encode to
                 * @returns Writer
                 */
                static encode(message: cloud.agent.api.TakeoverInit.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

                /**
                 * Decodes a TakeoverInit message from the specified reader or buffer.
                 * @param reader Reader or buffer to decode from
                 * @param [length] Message length if known beforehand
                 * @returns {cloud.agent.api.TakeoverInit & cloud.agent.api.TakeoverInit.$Shape} TakeoverInit
                 * @throws {Error} If the payload is not a reader or valid buffer
                 * @throws {$protobuf.util.ProtocolError} If required fields are missing
                 */
                static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): cloud.agent.api.TakeoverInit & cloud.agent.api.TakeoverInit.$Shape;

                /**
                 * Creates a TakeoverInit message from a plain object. Also converts values to their respective internal types.
                 * @param object Plain object
                 * @returns TakeoverInit
                 */
                static fromObject(object: { [k: string]: any }): cloud.agent.api.TakeoverInit;

                /**
                 * Creates a plain object from a TakeoverInit message. Also converts values to other types if specified.
                 * @param message TakeoverInit
                 * @param [options] Conversion options
                 * @returns Plain object
                 */
                static toObject(message: cloud.agent.api.TakeoverInit, options?: $protobuf.IConversionOptions): { [k: string]: any };

                /**
                 * Converts this TakeoverInit to JSON.
                 * @returns JSON object
                 */
                toJSON(): { [k: string]: any };
            }

            namespace TakeoverInit {

                /** Properties of a TakeoverInit. */
                interface $Properties {

                    /** TakeoverInit machineId */
                    machineId?: (string|null);

                    /** TakeoverInit bmaasEndpoint */
                    bmaasEndpoint?: (string|null);

                    /** TakeoverInit caCertificate */
                    caCertificate?: (Uint8Array|null);

                    /** TakeoverInit throwAway */
                    throwAway?: (boolean|null);

                    /** Unknown fields preserved while decoding when enabled */
                    $unknowns?: Uint8Array[];
                }

                /** Shape of a TakeoverInit. */
                type $Shape = cloud.agent.api.TakeoverInit.$Properties;
            }

            /**
             * Properties of a TakeoverSuccess.
             * @deprecated Use cloud.agent.api.TakeoverSuccess.$Properties instead.
             */
            interface ITakeoverSuccess extends cloud.agent.api.TakeoverSuccess.$Properties {
            }

            /** Represents a TakeoverSuccess. */
            class TakeoverSuccess {

                /**
                 * Constructs a new TakeoverSuccess.
                 * @param [properties] Properties to set
                 */
                constructor(properties?: cloud.agent.api.TakeoverSuccess.$Properties);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];

                /** TakeoverSuccess initMessage. */
                initMessage?: (cloud.agent.api.TakeoverInit.$Properties|null);

                /** TakeoverSuccess key. */
                key: Uint8Array;

                /** TakeoverSuccess warning. */
                warning: string[];

                /**
                 * Creates a new TakeoverSuccess instance using the specified properties.
                 * @param [properties] Properties to set
                 * @returns TakeoverSuccess instance
                 */
                static create(properties: cloud.agent.api.TakeoverSuccess.$Shape): cloud.agent.api.TakeoverSuccess & cloud.agent.api.TakeoverSuccess.$Shape;
                static create(properties?: cloud.agent.api.TakeoverSuccess.$Properties): cloud.agent.api.TakeoverSuccess;

                /**
                 * Encodes the specified TakeoverSuccess message. Does not implicitly {@link cloud.agent.api.TakeoverSuccess.verify|verify} messages.
                 * @param message TakeoverSuccess message or plain object to encode
                 * @param [writer] Writer to encode to
                 * @returns Writer
                 */
                static encode(message: cloud.agent.api.TakeoverSuccess.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

                /**
                 * Decodes a TakeoverSuccess message from the specified reader or buffer.
                 * @param reader Reader or buffer to decode from
                 * @param [length] Message length if known beforehand
                 * @returns {cloud.agent.api.TakeoverSuccess & cloud.agent.api.TakeoverSuccess.$Shape} TakeoverSuccess
                 * @throws {Error} If the payload is not a reader or valid buffer
                 * @throws {$protobuf.util.ProtocolError} If required fields are missing
                 */
                static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): cloud.agent.api.TakeoverSuccess & cloud.agent.api.TakeoverSuccess.$Shape;

                /**
                 * Creates a TakeoverSuccess message from a plain object. Also converts values to their respective internal types.
                 * @param object Plain object
                 * @returns TakeoverSuccess
                 */
                static fromObject(object: { [k: string]: any }): cloud.agent.api.TakeoverSuccess;

                /**
                 * Creates a plain object from a TakeoverSuccess message. Also converts values to other types if specified.
                 * @param message TakeoverSuccess
                 * @param [options] Conversion options
                 * @returns Plain object
                 */
                static toObject(message: cloud.agent.api.TakeoverSuccess, options?: $protobuf.IConversionOptions): { [k: string]: any };

                /**
                 * Converts this TakeoverSuccess to JSON.
                 * @returns JSON object
                 */
                toJSON(): { [k: string]: any };
            }

            namespace TakeoverSuccess {

                /** Properties of a TakeoverSuccess. */
                interface $Properties {

                    /** TakeoverSuccess initMessage */
                    initMessage?: (cloud.agent.api.TakeoverInit.$Properties|null);

                    /** TakeoverSuccess key */
                    key?: (Uint8Array|null);

                    /** TakeoverSuccess warning */
                    warning?: (string[]|null);

                    /** Unknown fields preserved while decoding when enabled */
                    $unknowns?: Uint8Array[];
                }

                /** Shape of a TakeoverSuccess. */
                type $Shape = cloud.agent.api.TakeoverSuccess.$Properties;
            }

            /**
             * Properties of a TakeoverError.
             * @deprecated Use cloud.agent.api.TakeoverError.$Properties instead.
             */
            interface ITakeoverError extends cloud.agent.api.TakeoverError.$Properties {
            }

            /** Represents a TakeoverError. */
            class TakeoverError {

                /**
                 * Constructs a new TakeoverError.
                 * @param [properties] Properties to set
                 */
                constructor(properties?: cloud.agent.api.TakeoverError.$Properties);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];

                /** TakeoverError message. */
                message: string;

                /**
                 * Creates a new TakeoverError instance using the specified properties.
                 * @param [properties] Properties to set
                 * @returns TakeoverError instance
                 */
                static create(properties: cloud.agent.api.TakeoverError.$Shape): cloud.agent.api.TakeoverError & cloud.agent.api.TakeoverError.$Shape;
                static create(properties?: cloud.agent.api.TakeoverError.$Properties): cloud.agent.api.TakeoverError;

                /**
                 * Encodes the specified TakeoverError message. Does not implicitly {@link cloud.agent.api.TakeoverError.verify|verify} messages.
                 * @param message TakeoverError message or plain object to encode
                 * @param [writer] Writer to encode to
                 * @returns Writer
                 */
                static encode(message: cloud.agent.api.TakeoverError.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

                /**
                 * Decodes a TakeoverError message from the specified reader or buffer.
                 * @param reader Reader or buffer to decode from
                 * @param [length] Message length if known beforehand
                 * @returns {cloud.agent.api.TakeoverError & cloud.agent.api.TakeoverError.$Shape} TakeoverError
                 * @throws {Error} If the payload is not a reader or valid buffer
                 * @throws {$protobuf.util.ProtocolError} If required fields are missing
                 */
                static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): cloud.agent.api.TakeoverError & cloud.agent.api.TakeoverError.$Shape;

                /**
                 * Creates a TakeoverError message from a plain object. Also converts values to their respective internal types.
                 * @param object Plain object
                 * @returns TakeoverError
                 */
                static fromObject(object: { [k: string]: any }): cloud.agent.api.TakeoverError;

                /**
                 * Creates a plain object from a TakeoverError message. Also converts values to other types if specified.
                 * @param message TakeoverError
                 * @param [options] Conversion options
                 * @returns Plain object
                 */
                static toObject(message: cloud.agent.api.TakeoverError, options?: $protobuf.IConversionOptions): { [k: string]: any };

                /**
                 * Converts this TakeoverError to JSON.
                 * @returns JSON object
                 */
                toJSON(): { [k: string]: any };
            }

            namespace TakeoverError {

                /** Properties of a TakeoverError. */
                interface $Properties {

                    /** TakeoverError message */
                    message?: (string|null);

                    /** Unknown fields preserved while decoding when enabled */
                    $unknowns?: Uint8Array[];
                }

                /** Shape of a TakeoverError. */
                type $Shape = cloud.agent.api.TakeoverError.$Properties;
            }

            /**
             * Properties of a TakeoverResponse.
             * @deprecated Use cloud.agent.api.TakeoverResponse.$Properties instead.
             */
            interface ITakeoverResponse extends cloud.agent.api.TakeoverResponse.$Properties {
            }

            /** Represents a TakeoverResponse. */
            class TakeoverResponse {

                /**
                 * Constructs a new TakeoverResponse.
                 * @param [properties] Properties to set
                 */
                constructor(properties?: cloud.agent.api.TakeoverResponse.$Properties);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];

                /** TakeoverResponse success. */
                success?: (cloud.agent.api.TakeoverSuccess.$Properties|null);

                /** TakeoverResponse error. */
                error?: (cloud.agent.api.TakeoverError.$Properties|null);

                /** TakeoverResponse result. */
                result?: ("success"|"error");

                /**
                 * Creates a new TakeoverResponse instance using the specified properties.
                 * @param [properties] Properties to set
                 * @returns TakeoverResponse instance
                 */
                static create(properties: cloud.agent.api.TakeoverResponse.$Shape): cloud.agent.api.TakeoverResponse & cloud.agent.api.TakeoverResponse.$Shape;
                static create(properties?: cloud.agent.api.TakeoverResponse.$Properties): cloud.agent.api.TakeoverResponse;

                /**
                 * Encodes the specified TakeoverResponse message. Does not implicitly {@link cloud.agent.api.TakeoverResponse.verify|verify} messages.
                 * @param message TakeoverResponse message or plain object to encode
                 * @param [writer] Writer to encode to
                 * @returns Writer
                 */
                static encode(message: cloud.agent.api.TakeoverResponse.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

                /**
                 * Decodes a TakeoverResponse message from the specified reader or buffer.
                 * @param reader Reader or buffer to decode from
                 * @param [length] Message length if known beforehand
                 * @returns {cloud.agent.api.TakeoverResponse & cloud.agent.api.TakeoverResponse.$Shape} TakeoverResponse
                 * @throws {Error} If the payload is not a reader or valid buffer
                 * @throws {$protobuf.util.ProtocolError} If required fields are missing
                 */
                static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): cloud.agent.api.TakeoverResponse & cloud.agent.api.TakeoverResponse.$Shape;

                /**
                 * Creates a TakeoverResponse message from a plain object. Also converts values to their respective internal types.
                 * @param object Plain object
                 * @returns TakeoverResponse
                 */
                static fromObject(object: { [k: string]: any }): cloud.agent.api.TakeoverResponse;

                /**
                 * Creates a plain object from a TakeoverResponse message. Also converts values to other types if specified.
                 * @param message TakeoverResponse
                 * @param [options] Conversion options
                 * @returns Plain object
                 */
                static toObject(message: cloud.agent.api.TakeoverResponse, options?: $protobuf.IConversionOptions): { [k: string]: any };

                /**
                 * Converts this TakeoverResponse to JSON.
                 * @returns JSON object
                 */
                toJSON(): { [k: string]: any };
            }

            namespace TakeoverResponse {

                /** Properties of a TakeoverResponse. */
                interface $Properties {

                    /** TakeoverResponse success */
                    success?: (cloud.agent.api.TakeoverSuccess.$Properties|null);

                    /** TakeoverResponse error */
                    error?: (cloud.agent.api.TakeoverError.$Properties|null);

                    /** TakeoverResponse result */
                    result?: ("success"|"error");

                    /** Unknown fields preserved while decoding when enabled */
                    $unknowns?: Uint8Array[];
                }

                /** Narrowed shape of a TakeoverResponse. */
                type $Shape = {
                  success?: cloud.agent.api.TakeoverSuccess.$Shape|null;
                  error?: cloud.agent.api.TakeoverError.$Shape|null;
                  $unknowns?: Uint8Array[];
                } & (
                  ({ result?: undefined; success?: null; error?: null }|{ result?: "success"; success: cloud.agent.api.TakeoverSuccess.$Shape; error?: null }|{ result?: "error"; success?: null; error: cloud.agent.api.TakeoverError.$Shape })
                );
            }

            /**
             * Properties of an AgentInit.
             * @deprecated Use cloud.agent.api.AgentInit.$Properties instead.
             */
            interface IAgentInit extends cloud.agent.api.AgentInit.$Properties {
            }

            /** Represents an AgentInit. */
            class AgentInit {

                /**
                 * Constructs a new AgentInit.
                 * @param [properties] Properties to set
                 */
                constructor(properties?: cloud.agent.api.AgentInit.$Properties);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];

                /** AgentInit takeoverInit. */
                takeoverInit?: (cloud.agent.api.TakeoverInit.$Properties|null);

                /** AgentInit privateKey. */
                privateKey: Uint8Array;

                /** AgentInit networkConfig. */
                networkConfig?: (osbase.net.proto.Net.$Properties|null);

                /**
                 * Creates a new AgentInit instance using the specified properties.
                 * @param [properties] Properties to set
                 * @returns AgentInit instance
                 */
                static create(properties: cloud.agent.api.AgentInit.$Shape): cloud.agent.api.AgentInit & cloud.agent.api.AgentInit.$Shape;
                static create(properties?: cloud.agent.api.AgentInit.$Properties): cloud.agent.api.AgentInit;

                /**
                 * Encodes the specified AgentInit message. Does not implicitly {@link cloud.agent.api.AgentInit.verify|verify} messages.
                 * @param message AgentInit message or plain object to encode
                 * @param [writer] Writer to encode to
                 * @returns Writer
                 */
                static encode(message: cloud.agent.api.AgentInit.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

                /**
                 * Decodes an AgentInit message from the specified reader or buffer.
                 * @param reader Reader or buffer to decode from
                 * @param [length] Message length if known beforehand
                 * @returns {cloud.agent.api.AgentInit & cloud.agent.api.AgentInit.$Shape} AgentInit
                 * @throws {Error} If the payload is not a reader or valid buffer
                 * @throws {$protobuf.util.ProtocolError} If required fields are missing
                 */
                static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): cloud.agent.api.AgentInit & cloud.agent.api.AgentInit.$Shape;

                /**
                 * Creates an AgentInit message from a plain object. Also converts values to their respective internal types.
                 * @param object Plain object
                 * @returns AgentInit
                 */
                static fromObject(object: { [k: string]: any }): cloud.agent.api.AgentInit;

                /**
                 * Creates a plain object from an AgentInit message. Also converts values to other types if specified.
                 * @param message AgentInit
                 * @param [options] Conversion options
                 * @returns Plain object
                 */
                static toObject(message: cloud.agent.api.AgentInit, options?: $protobuf.IConversionOptions): { [k: string]: any };

                /**
                 * Converts this AgentInit to JSON.
                 * @returns JSON object
                 */
                toJSON(): { [k: string]: any };
            }

            namespace AgentInit {

                /** Properties of an AgentInit. */
                interface $Properties {

                    /** AgentInit takeoverInit */
                    takeoverInit?: (cloud.agent.api.TakeoverInit.$Properties|null);

                    /** AgentInit privateKey */
                    privateKey?: (Uint8Array|null);

                    /** AgentInit networkConfig */
                    networkConfig?: (osbase.net.proto.Net.$Properties|null);

                    /** Unknown fields preserved while decoding when enabled */
                    $unknowns?: Uint8Array[];
                }

                /** Shape of an AgentInit. */
                type $Shape = {
                  takeoverInit?: cloud.agent.api.TakeoverInit.$Shape|null;
                  privateKey?: Uint8Array|null;
                  networkConfig?: osbase.net.proto.Net.$Shape|null;
                  $unknowns?: Uint8Array[];
                };
            }

            /**
             * Properties of a Node.
             * @deprecated Use cloud.agent.api.Node.$Properties instead.
             */
            interface INode extends cloud.agent.api.Node.$Properties {
            }

            /** Represents a Node. */
            class Node {

                /**
                 * Constructs a new Node.
                 * @param [properties] Properties to set
                 */
                constructor(properties?: cloud.agent.api.Node.$Properties);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];

                /** Node manufacturer. */
                manufacturer: string;

                /** Node product. */
                product: string;

                /** Node serialNumber. */
                serialNumber: string;

                /** Node memoryInstalledBytes. */
                memoryInstalledBytes: (number|Long);

                /** Node memoryUsableRatio. */
                memoryUsableRatio: number;

                /** Node cpu. */
                cpu: cloud.agent.api.CPU.$Properties[];

                /** Node blockDevice. */
                blockDevice: cloud.agent.api.BlockDevice.$Properties[];

                /** Node networkInterface. */
                networkInterface: cloud.agent.api.NetworkInterface.$Properties[];

                /** Node efiSupport. */
                efiSupport: cloud.agent.api.EFISupport;

                /**
                 * Creates a new Node instance using the specified properties.
                 * @param [properties] Properties to set
                 * @returns Node instance
                 */
                static create(properties: cloud.agent.api.Node.$Shape): cloud.agent.api.Node & cloud.agent.api.Node.$Shape;
                static create(properties?: cloud.agent.api.Node.$Properties): cloud.agent.api.Node;

                /**
                 * Encodes the specified Node message. Does not implicitly {@link cloud.agent.api.Node.verify|verify} messages.
                 * @param message Node message or plain object to encode
                 * @param [writer] Writer to encode to
                 * @returns Writer
                 */
                static encode(message: cloud.agent.api.Node.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

                /**
                 * Decodes a Node message from the specified reader or buffer.
                 * @param reader Reader or buffer to decode from
                 * @param [length] Message length if known beforehand
                 * @returns {cloud.agent.api.Node & cloud.agent.api.Node.$Shape} Node
                 * @throws {Error} If the payload is not a reader or valid buffer
                 * @throws {$protobuf.util.ProtocolError} If required fields are missing
                 */
                static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): cloud.agent.api.Node & cloud.agent.api.Node.$Shape;

                /**
                 * Creates a Node message from a plain object. Also converts values to their respective internal types.
                 * @param object Plain object
                 * @returns Node
                 */
                static fromObject(object: { [k: string]: any }): cloud.agent.api.Node;

                /**
                 * Creates a plain object from a Node message. Also converts values to other types if specified.
                 * @param message Node
                 * @param [options] Conversion options
                 * @returns Plain object
                 */
                static toObject(message: cloud.agent.api.Node, options?: $protobuf.IConversionOptions): { [k: string]: any };

                /**
                 * Converts this Node to JSON.
                 * @returns JSON object
                 */
                toJSON(): { [k: string]: any };
            }

            namespace Node {

                /** Properties of a Node. */
                interface $Properties {

                    /** Node manufacturer */
                    manufacturer?: (string|null);

                    /** Node product */
                    product?: (string|null);

                    /** Node serialNumber */
                    serialNumber?: (string|null);

                    /** Node memoryInstalledBytes */
                    memoryInstalledBytes?: (number|Long|null);

                    /** Node memoryUsableRatio */
                    memoryUsableRatio?: (number|null);

                    /** Node cpu */
                    cpu?: (cloud.agent.api.CPU.$Properties[]|null);

                    /** Node blockDevice */
                    blockDevice?: (cloud.agent.api.BlockDevice.$Properties[]|null);

                    /** Node networkInterface */
                    networkInterface?: (cloud.agent.api.NetworkInterface.$Properties[]|null);

                    /** Node efiSupport */
                    efiSupport?: (cloud.agent.api.EFISupport|null);

                    /** Unknown fields preserved while decoding when enabled */
                    $unknowns?: Uint8Array[];
                }

                /** Shape of a Node. */
                type $Shape = {
                  manufacturer?: string|null;
                  product?: string|null;
                  serialNumber?: string|null;
                  memoryInstalledBytes?: number|Long|null;
                  memoryUsableRatio?: number|null;
                  cpu?: cloud.agent.api.CPU.$Shape[]|null;
                  blockDevice?: cloud.agent.api.BlockDevice.$Shape[]|null;
                  networkInterface?: cloud.agent.api.NetworkInterface.$Shape[]|null;
                  efiSupport?: cloud.agent.api.EFISupport|null;
                  $unknowns?: Uint8Array[];
                };
            }

            /**
             * Properties of a CPU.
             * @deprecated Use cloud.agent.api.CPU.$Properties instead.
             */
            interface ICPU extends cloud.agent.api.CPU.$Properties {
            }

            /** Represents a CPU. */
            class CPU {

                /**
                 * Constructs a new CPU.
                 * @param [properties] Properties to set
                 */
                constructor(properties?: cloud.agent.api.CPU.$Properties);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];

                /** CPU x86_64. */
                x86_64?: (cloud.agent.api.CPU.X86_64.$Properties|null);

                /** CPU arm64. */
                arm64?: (cloud.agent.api.CPU.ARM64.$Properties|null);

                /** CPU cores. */
                cores: number;

                /** CPU hardwareThreads. */
                hardwareThreads: number;

                /** CPU vendor. */
                vendor: string;

                /** CPU model. */
                model: string;

                /** CPU architecture. */
                architecture?: ("x86_64"|"arm64");

                /**
                 * Creates a new CPU instance using the specified properties.
                 * @param [properties] Properties to set
                 * @returns CPU instance
                 */
                static create(properties: cloud.agent.api.CPU.$Shape): cloud.agent.api.CPU & cloud.agent.api.CPU.$Shape;
                static create(properties?: cloud.agent.api.CPU.$Properties): cloud.agent.api.CPU;

                /**
                 * Encodes the specified CPU message. Does not implicitly {@link cloud.agent.api.CPU.verify|verify} messages.
                 * @param message CPU message or plain object to encode
                 * @param [writer] Writer to encode to
                 * @returns Writer
                 */
                static encode(message: cloud.agent.api.CPU.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

                /**
                 * Decodes a CPU message from the specified reader or buffer.
                 * @param reader Reader or buffer to decode from
                 * @param [length] Message length if known beforehand
                 * @returns {cloud.agent.api.CPU & cloud.agent.api.CPU.$Shape} CPU
                 * @throws {Error} If the payload is not a reader or valid buffer
                 * @throws {$protobuf.util.ProtocolError} If required fields are missing
                 */
                static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): cloud.agent.api.CPU & cloud.agent.api.CPU.$Shape;

                /**
                 * Creates a CPU message from a plain object. Also converts values to their respective internal types.
                 * @param object Plain object
                 * @returns CPU
                 */
                static fromObject(object: { [k: string]: any }): cloud.agent.api.CPU;

                /**
                 * Creates a plain object from a CPU message. Also converts values to other types if specified.
                 * @param message CPU
                 * @param [options] Conversion options
                 * @returns Plain object
                 */
                static toObject(message: cloud.agent.api.CPU, options?: $protobuf.IConversionOptions): { [k: string]: any };

                /**
                 * Converts this CPU to JSON.
                 * @returns JSON object
                 */
                toJSON(): { [k: string]: any };
            }

            namespace CPU {

                /** Properties of a CPU. */
                interface $Properties {

                    /** CPU x86_64 */
                    x86_64?: (cloud.agent.api.CPU.X86_64.$Properties|null);

                    /** CPU arm64 */
                    arm64?: (cloud.agent.api.CPU.ARM64.$Properties|null);

                    /** CPU cores */
                    cores?: (number|null);

                    /** CPU hardwareThreads */
                    hardwareThreads?: (number|null);

                    /** CPU vendor */
                    vendor?: (string|null);

                    /** CPU model */
                    model?: (string|null);

                    /** CPU architecture */
                    architecture?: ("x86_64"|"arm64");

                    /** Unknown fields preserved while decoding when enabled */
                    $unknowns?: Uint8Array[];
                }

                /** Narrowed shape of a CPU. */
                type $Shape = {
                  x86_64?: cloud.agent.api.CPU.X86_64.$Shape|null;
                  arm64?: cloud.agent.api.CPU.ARM64.$Shape|null;
                  cores?: number|null;
                  hardwareThreads?: number|null;
                  vendor?: string|null;
                  model?: string|null;
                  $unknowns?: Uint8Array[];
                } & (
                  ({ architecture?: undefined; x86_64?: null; arm64?: null }|{ architecture?: "x86_64"; x86_64: cloud.agent.api.CPU.X86_64.$Shape; arm64?: null }|{ architecture?: "arm64"; x86_64?: null; arm64: cloud.agent.api.CPU.ARM64.$Shape })
                );

                /**
                 * Properties of a X86_64.
                 * @deprecated Use cloud.agent.api.CPU.X86_64.$Properties instead.
                 */
                interface IX86_64 extends cloud.agent.api.CPU.X86_64.$Properties {
                }

                /** Represents a X86_64. */
                class X86_64 {

                    /**
                     * Constructs a new X86_64.
                     * @param [properties] Properties to set
                     */
                    constructor(properties?: cloud.agent.api.CPU.X86_64.$Properties);

                    /** Unknown fields preserved while decoding when enabled */
                    $unknowns?: Uint8Array[];

                    /** X86_64 family. */
                    family: number;

                    /** X86_64 model. */
                    model: number;

                    /** X86_64 stepping. */
                    stepping: number;

                    /**
                     * Creates a new X86_64 instance using the specified properties.
                     * @param [properties] Properties to set
                     * @returns X86_64 instance
                     */
                    static create(properties: cloud.agent.api.CPU.X86_64.$Shape): cloud.agent.api.CPU.X86_64 & cloud.agent.api.CPU.X86_64.$Shape;
                    static create(properties?: cloud.agent.api.CPU.X86_64.$Properties): cloud.agent.api.CPU.X86_64;

                    /**
                     * Encodes the specified X86_64 message. Does not implicitly {@link cloud.agent.api.CPU.X86_64.verify|verify} messages.
                     * @param message X86_64 message or plain object to encode
                     * @param [writer] Writer to encode to
                     * @returns Writer
                     */
                    static encode(message: cloud.agent.api.CPU.X86_64.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

                    /**
                     * Decodes a X86_64 message from the specified reader or buffer.
                     * @param reader Reader or buffer to decode from
                     * @param [length] Message length if known beforehand
                     * @returns {cloud.agent.api.CPU.X86_64 & cloud.agent.api.CPU.X86_64.$Shape} X86_64
                     * @throws {Error} If the payload is not a reader or valid buffer
                     * @throws {$protobuf.util.ProtocolError} If required fields are missing
                     */
                    static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): cloud.agent.api.CPU.X86_64 & cloud.agent.api.CPU.X86_64.$Shape;

                    /**
                     * Creates a X86_64 message from a plain object. Also converts values to their respective internal types.
                     * @param object Plain object
                     * @returns X86_64
                     */
                    static fromObject(object: { [k: string]: any }): cloud.agent.api.CPU.X86_64;

                    /**
                     * Creates a plain object from a X86_64 message. Also converts values to other types if specified.
                     * @param message X86_64
                     * @param [options] Conversion options
                     * @returns Plain object
                     */
                    static toObject(message: cloud.agent.api.CPU.X86_64, options?: $protobuf.IConversionOptions): { [k: string]: any };

                    /**
                     * Converts this X86_64 to JSON.
                     * @returns JSON object
                     */
                    toJSON(): { [k: string]: any };
                }

                namespace X86_64 {

                    /** Properties of a X86_64. */
                    interface $Properties {

                        /** X86_64 family */
                        family?: (number|null);

                        /** X86_64 model */
                        model?: (number|null);

                        /** X86_64 stepping */
                        stepping?: (number|null);

                        /** Unknown fields preserved while decoding when enabled */
                        $unknowns?: Uint8Array[];
                    }

                    /** Shape of a X86_64. */
                    type $Shape = cloud.agent.api.CPU.X86_64.$Properties;
                }

                /**
                 * Properties of a ARM64.
                 * @deprecated Use cloud.agent.api.CPU.ARM64.$Properties instead.
                 */
                interface IARM64 extends cloud.agent.api.CPU.ARM64.$Properties {
                }

                /** Represents a ARM64. */
                class ARM64 {

                    /**
                     * Constructs a new ARM64.
                     * @param [properties] Properties to set
                     */
                    constructor(properties?: cloud.agent.api.CPU.ARM64.$Properties);

                    /** Unknown fields preserved while decoding when enabled */
                    $unknowns?: Uint8Array[];

                    /** ARM64 implementer. */
                    implementer: number;

                    /** ARM64 variant. */
                    variant: number;

                    /** ARM64 part. */
                    part: number;

                    /** ARM64 revision. */
                    revision: number;

                    /**
                     * Creates a new ARM64 instance using the specified properties.
                     * @param [properties] Properties to set
                     * @returns ARM64 instance
                     */
                    static create(properties: cloud.agent.api.CPU.ARM64.$Shape): cloud.agent.api.CPU.ARM64 & cloud.agent.api.CPU.ARM64.$Shape;
                    static create(properties?: cloud.agent.api.CPU.ARM64.$Properties): cloud.agent.api.CPU.ARM64;

                    /**
                     * Encodes the specified ARM64 message. Does not implicitly {@link cloud.agent.api.CPU.ARM64.verify|verify} messages.
                     * @param message ARM64 message or plain object to encode
                     * @param [writer] Writer to encode to
                     * @returns Writer
                     */
                    static encode(message: cloud.agent.api.CPU.ARM64.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

                    /**
                     * Decodes a ARM64 message from the specified reader or buffer.
                     * @param reader Reader or buffer to decode from
                     * @param [length] Message length if known beforehand
                     * @returns {cloud.agent.api.CPU.ARM64 & cloud.agent.api.CPU.ARM64.$Shape} ARM64
                     * @throws {Error} If the payload is not a reader or valid buffer
                     * @throws {$protobuf.util.ProtocolError} If required fields are missing
                     */
                    static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): cloud.agent.api.CPU.ARM64 & cloud.agent.api.CPU.ARM64.$Shape;

                    /**
                     * Creates a ARM64 message from a plain object. Also converts values to their respective internal types.
                     * @param object Plain object
                     * @returns ARM64
                     */
                    static fromObject(object: { [k: string]: any }): cloud.agent.api.CPU.ARM64;

                    /**
                     * Creates a plain object from a ARM64 message. Also converts values to other types if specified.
                     * @param message ARM64
                     * @param [options] Conversion options
                     * @returns Plain object
                     */
                    static toObject(message: cloud.agent.api.CPU.ARM64, options?: $protobuf.IConversionOptions): { [k: string]: any };

                    /**
                     * Converts this ARM64 to JSON.
                     * @returns JSON object
                     */
                    toJSON(): { [k: string]: any };
                }

                namespace ARM64 {

                    /** Properties of a ARM64. */
                    interface $Properties {

                        /** ARM64 implementer */
                        implementer?: (number|null);

                        /** ARM64 variant */
                        variant?: (number|null);

                        /** ARM64 part */
                        part?: (number|null);

                        /** ARM64 revision */
                        revision?: (number|null);

                        /** Unknown fields preserved while decoding when enabled */
                        $unknowns?: Uint8Array[];
                    }

                    /** Shape of a ARM64. */
                    type $Shape = cloud.agent.api.CPU.ARM64.$Properties;
                }
            }

            /**
             * Properties of a BlockDevice.
             * @deprecated Use cloud.agent.api.BlockDevice.$Properties instead.
             */
            interface IBlockDevice extends cloud.agent.api.BlockDevice.$Properties {
            }

            /** Represents a BlockDevice. */
            class BlockDevice {

                /**
                 * Constructs a new BlockDevice.
                 * @param [properties] Properties to set
                 */
                constructor(properties?: cloud.agent.api.BlockDevice.$Properties);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];

                /** BlockDevice vendor. */
                vendor: string;

                /** BlockDevice deviceModel. */
                deviceModel: string;

                /** BlockDevice serialNumber. */
                serialNumber: string;

                /** BlockDevice wwn. */
                wwn: Uint8Array;

                /** BlockDevice rotational. */
                rotational: boolean;

                /** BlockDevice capacityBytes. */
                capacityBytes: (number|Long);

                /** BlockDevice logicalBlockSizeBytes. */
                logicalBlockSizeBytes: number;

                /** BlockDevice physicalBlockSizeBytes. */
                physicalBlockSizeBytes: number;

                /** BlockDevice protocol. */
                protocol: cloud.agent.api.BlockDevice.Protocol;

                /** BlockDevice criticalWarning. */
                criticalWarning: boolean;

                /** BlockDevice mediaErrors. */
                mediaErrors?: (number|Long|null);

                /** BlockDevice availableSpareRatio. */
                availableSpareRatio?: (number|null);

                /** BlockDevice usageRatio. */
                usageRatio?: (number|null);

                /** BlockDevice name. */
                name: string;

                /** BlockDevice byId. */
                byId: string[];

                /**
                 * Creates a new BlockDevice instance using the specified properties.
                 * @param [properties] Properties to set
                 * @returns BlockDevice instance
                 */
                static create(properties: cloud.agent.api.BlockDevice.$Shape): cloud.agent.api.BlockDevice & cloud.agent.api.BlockDevice.$Shape;
                static create(properties?: cloud.agent.api.BlockDevice.$Properties): cloud.agent.api.BlockDevice;

                /**
                 * Encodes the specified BlockDevice message. Does not implicitly {@link cloud.agent.api.BlockDevice.verify|verify} messages.
                 * @param message BlockDevice message or plain object to encode
                 * @param [writer] Writer to encode to
                 * @returns Writer
                 */
                static encode(message: cloud.agent.api.BlockDevice.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

                /**
                 * Decodes a BlockDevice message from the specified reader or buffer.
                 * @param reader Reader or buffer to decode from
                 * @param [length] Message length if known beforehand
                 * @returns {cloud.agent.api.BlockDevice & cloud.agent.api.BlockDevice.$Shape} BlockDevice
                 * @throws {Error} If the payload is not a reader or valid buffer
                 * @throws {$protobuf.util.ProtocolError} If required fields are missing
                 */
                static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): cloud.agent.api.BlockDevice & cloud.agent.api.BlockDevice.$Shape;

                /**
                 * Creates a BlockDevice message from a plain object. Also converts values to their respective internal types.
                 * @param object Plain object
                 * @returns BlockDevice
                 */
                static fromObject(object: { [k: string]: any }): cloud.agent.api.BlockDevice;

                /**
                 * Creates a plain object from a BlockDevice message. Also converts values to other types if specified.
                 * @param message BlockDevice
                 * @param [options] Conversion options
                 * @returns Plain object
                 */
                static toObject(message: cloud.agent.api.BlockDevice, options?: $protobuf.IConversionOptions): { [k: string]: any };

                /**
                 * Converts this BlockDevice to JSON.
                 * @returns JSON object
                 */
                toJSON(): { [k: string]: any };
            }

            namespace BlockDevice {

                /** Properties of a BlockDevice. */
                interface $Properties {

                    /** BlockDevice vendor */
                    vendor?: (string|null);

                    /** BlockDevice deviceModel */
                    deviceModel?: (string|null);

                    /** BlockDevice serialNumber */
                    serialNumber?: (string|null);

                    /** BlockDevice wwn */
                    wwn?: (Uint8Array|null);

                    /** BlockDevice rotational */
                    rotational?: (boolean|null);

                    /** BlockDevice capacityBytes */
                    capacityBytes?: (number|Long|null);

                    /** BlockDevice logicalBlockSizeBytes */
                    logicalBlockSizeBytes?: (number|null);

                    /** BlockDevice physicalBlockSizeBytes */
                    physicalBlockSizeBytes?: (number|null);

                    /** BlockDevice protocol */
                    protocol?: (cloud.agent.api.BlockDevice.Protocol|null);

                    /** BlockDevice criticalWarning */
                    criticalWarning?: (boolean|null);

                    /** BlockDevice mediaErrors */
                    mediaErrors?: (number|Long|null);

                    /** BlockDevice availableSpareRatio */
                    availableSpareRatio?: (number|null);

                    /** BlockDevice usageRatio */
                    usageRatio?: (number|null);

                    /** BlockDevice name */
                    name?: (string|null);

                    /** BlockDevice byId */
                    byId?: (string[]|null);

                    /** Unknown fields preserved while decoding when enabled */
                    $unknowns?: Uint8Array[];
                }

                /** Shape of a BlockDevice. */
                type $Shape = cloud.agent.api.BlockDevice.$Properties;

                /** Protocol enum. */
                enum Protocol {

                    /** PROTOCOL_UNKNOWN value */
                    PROTOCOL_UNKNOWN = 0,

                    /** PROTOCOL_SCSI value */
                    PROTOCOL_SCSI = 1,

                    /** PROTOCOL_ATA value */
                    PROTOCOL_ATA = 2,

                    /** PROTOCOL_NVME value */
                    PROTOCOL_NVME = 3,

                    /** PROTOCOL_MMC value */
                    PROTOCOL_MMC = 4
                }
            }

            /**
             * Properties of a NetworkInterface.
             * @deprecated Use cloud.agent.api.NetworkInterface.$Properties instead.
             */
            interface INetworkInterface extends cloud.agent.api.NetworkInterface.$Properties {
            }

            /** Represents a NetworkInterface. */
            class NetworkInterface {

                /**
                 * Constructs a new NetworkInterface.
                 * @param [properties] Properties to set
                 */
                constructor(properties?: cloud.agent.api.NetworkInterface.$Properties);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];

                /** NetworkInterface mac. */
                mac: Uint8Array;

                /** NetworkInterface driver. */
                driver: string;

                /** NetworkInterface supportedSpeedBytes. */
                supportedSpeedBytes: (number|Long)[];

                /** NetworkInterface linkUp. */
                linkUp: boolean;

                /** NetworkInterface currentSpeedBytes. */
                currentSpeedBytes: (number|Long);

                /** NetworkInterface name. */
                name: string;

                /**
                 * Creates a new NetworkInterface instance using the specified properties.
                 * @param [properties] Properties to set
                 * @returns NetworkInterface instance
                 */
                static create(properties: cloud.agent.api.NetworkInterface.$Shape): cloud.agent.api.NetworkInterface & cloud.agent.api.NetworkInterface.$Shape;
                static create(properties?: cloud.agent.api.NetworkInterface.$Properties): cloud.agent.api.NetworkInterface;

                /**
                 * Encodes the specified NetworkInterface message. Does not implicitly {@link cloud.agent.api.NetworkInterface.verify|verify} messages.
                 * @param message NetworkInterface message or plain object to encode
                 * @param [writer] Writer to encode to
                 * @returns Writer
                 */
                static encode(message: cloud.agent.api.NetworkInterface.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

                /**
                 * Decodes a NetworkInterface message from the specified reader or buffer.
                 * @param reader Reader or buffer to decode from
                 * @param [length] Message length if known beforehand
                 * @returns {cloud.agent.api.NetworkInterface & cloud.agent.api.NetworkInterface.$Shape} NetworkInterface
                 * @throws {Error} If the payload is not a reader or valid buffer
                 * @throws {$protobuf.util.ProtocolError} If required fields are missing
                 */
                static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): cloud.agent.api.NetworkInterface & cloud.agent.api.NetworkInterface.$Shape;

                /**
                 * Creates a NetworkInterface message from a plain object. Also converts values to their respective internal types.
                 * @param object Plain object
                 * @returns NetworkInterface
                 */
                static fromObject(object: { [k: string]: any }): cloud.agent.api.NetworkInterface;

                /**
                 * Creates a plain object from a NetworkInterface message. Also converts values to other types if specified.
                 * @param message NetworkInterface
                 * @param [options] Conversion options
                 * @returns Plain object
                 */
                static toObject(message: cloud.agent.api.NetworkInterface, options?: $protobuf.IConversionOptions): { [k: string]: any };

                /**
                 * Converts this NetworkInterface to JSON.
                 * @returns JSON object
                 */
                toJSON(): { [k: string]: any };
            }

            namespace NetworkInterface {

                /** Properties of a NetworkInterface. */
                interface $Properties {

                    /** NetworkInterface mac */
                    mac?: (Uint8Array|null);

                    /** NetworkInterface driver */
                    driver?: (string|null);

                    /** NetworkInterface supportedSpeedBytes */
                    supportedSpeedBytes?: ((number|Long)[]|null);

                    /** NetworkInterface linkUp */
                    linkUp?: (boolean|null);

                    /** NetworkInterface currentSpeedBytes */
                    currentSpeedBytes?: (number|Long|null);

                    /** NetworkInterface name */
                    name?: (string|null);

                    /** Unknown fields preserved while decoding when enabled */
                    $unknowns?: Uint8Array[];
                }

                /** Shape of a NetworkInterface. */
                type $Shape = cloud.agent.api.NetworkInterface.$Properties;
            }

            /** EFISupport enum. */
            enum EFISupport {

                /** EFI_SUPPORT_INVALID value */
                EFI_SUPPORT_INVALID = 0,

                /** EFI_SUPPORT_UNKNOWN value */
                EFI_SUPPORT_UNKNOWN = 1,

                /** EFI_SUPPORT_UNSUPPORTED value */
                EFI_SUPPORT_UNSUPPORTED = 2,

                /** EFI_SUPPORT_SUPPORTED value */
                EFI_SUPPORT_SUPPORTED = 3,

                /** EFI_SUPPORT_ENABLED value */
                EFI_SUPPORT_ENABLED = 4
            }
        }
    }

    /** Namespace bmaas. */
    namespace bmaas {

        /** Namespace server. */
        namespace server {

            /** Namespace api. */
            namespace api {

                /** AgentPhase enum. */
                enum AgentPhase {

                    /** AGENT_PHASE_IDLE value */
                    AGENT_PHASE_IDLE = 0,

                    /** AGENT_PHASE_INSTALLING value */
                    AGENT_PHASE_INSTALLING = 1,

                    /** AGENT_PHASE_REPORTING value */
                    AGENT_PHASE_REPORTING = 2
                }

                /**
                 * Properties of a HeartbeatRequest.
                 * @deprecated Use cloud.bmaas.server.api.HeartbeatRequest.$Properties instead.
                 */
                interface IHeartbeatRequest extends cloud.bmaas.server.api.HeartbeatRequest.$Properties {
                }

                /** Represents a HeartbeatRequest. */
                class HeartbeatRequest {

                    /**
                     * Constructs a new HeartbeatRequest.
                     * @param [properties] Properties to set
                     */
                    constructor(properties?: cloud.bmaas.server.api.HeartbeatRequest.$Properties);

                    /** Unknown fields preserved while decoding when enabled */
                    $unknowns?: Uint8Array[];

                    /** HeartbeatRequest machineId. */
                    machineId: string;

                    /** HeartbeatRequest hardwareReport. */
                    hardwareReport?: (cloud.bmaas.server.api.AgentHardwareReport.$Properties|null);

                    /** HeartbeatRequest installationReport. */
                    installationReport?: (cloud.bmaas.server.api.OSInstallationReport.$Properties|null);

                    /** HeartbeatRequest bootId. */
                    bootId: string;

                    /** HeartbeatRequest agentVersion. */
                    agentVersion: string;

                    /** HeartbeatRequest phase. */
                    phase: cloud.bmaas.server.api.AgentPhase;

                    /** HeartbeatRequest uptimeSeconds. */
                    uptimeSeconds: (number|Long);

                    /**
                     * Creates a new HeartbeatRequest instance using the specified properties.
                     * @param [properties] Properties to set
                     * @returns HeartbeatRequest instance
                     */
                    static create(properties: cloud.bmaas.server.api.HeartbeatRequest.$Shape): cloud.bmaas.server.api.HeartbeatRequest & cloud.bmaas.server.api.HeartbeatRequest.$Shape;
                    static create(properties?: cloud.bmaas.server.api.HeartbeatRequest.$Properties): cloud.bmaas.server.api.HeartbeatRequest;

                    /**
                     * Encodes the specified HeartbeatRequest message. Does not implicitly {@link cloud.bmaas.server.api.HeartbeatRequest.verify|verify} messages.
                     * @param message HeartbeatRequest message or plain object to encode
                     * @param [writer] Writer to encode to
                     * @returns Writer
                     */
                    static encode(message: cloud.bmaas.server.api.HeartbeatRequest.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

                    /**
                     * Decodes a HeartbeatRequest message from the specified reader or buffer.
                     * @param reader Reader or buffer to decode from
                     * @param [length] Message length if known beforehand
                     * @returns {cloud.bmaas.server.api.HeartbeatRequest & cloud.bmaas.server.api.HeartbeatRequest.$Shape} HeartbeatRequest
                     * @throws {Error} If the payload is not a reader or valid buffer
                     * @throws {$protobuf.util.ProtocolError} If required fields are missing
                     */
                    static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): cloud.bmaas.server.api.HeartbeatRequest & cloud.bmaas.server.api.HeartbeatRequest.$Shape;

                    /**
                     * Creates a HeartbeatRequest message from a plain object. Also converts values to their respective internal types.
                     * @param object Plain object
                     * @returns HeartbeatRequest
                     */
                    static fromObject(object: { [k: string]: any }): cloud.bmaas.server.api.HeartbeatRequest;

                    /**
                     * Creates a plain object from a HeartbeatRequest message. Also converts values to other types if specified.
                     * @param message HeartbeatRequest
                     * @param [options] Conversion options
                     * @returns Plain object
                     */
                    static toObject(message: cloud.bmaas.server.api.HeartbeatRequest, options?: $protobuf.IConversionOptions): { [k: string]: any };

                    /**
                     * Converts this HeartbeatRequest to JSON.
                     * @returns JSON object
                     */
                    toJSON(): { [k: string]: any };
                }

                namespace HeartbeatRequest {

                    /** Properties of a HeartbeatRequest. */
                    interface $Properties {

                        /** HeartbeatRequest machineId */
                        machineId?: (string|null);

                        /** HeartbeatRequest hardwareReport */
                        hardwareReport?: (cloud.bmaas.server.api.AgentHardwareReport.$Properties|null);

                        /** HeartbeatRequest installationReport */
                        installationReport?: (cloud.bmaas.server.api.OSInstallationReport.$Properties|null);

                        /** HeartbeatRequest bootId */
                        bootId?: (string|null);

                        /** HeartbeatRequest agentVersion */
                        agentVersion?: (string|null);

                        /** HeartbeatRequest phase */
                        phase?: (cloud.bmaas.server.api.AgentPhase|null);

                        /** HeartbeatRequest uptimeSeconds */
                        uptimeSeconds?: (number|Long|null);

                        /** Unknown fields preserved while decoding when enabled */
                        $unknowns?: Uint8Array[];
                    }

                    /** Shape of a HeartbeatRequest. */
                    type $Shape = {
                      machineId?: string|null;
                      hardwareReport?: cloud.bmaas.server.api.AgentHardwareReport.$Shape|null;
                      installationReport?: cloud.bmaas.server.api.OSInstallationReport.$Shape|null;
                      bootId?: string|null;
                      agentVersion?: string|null;
                      phase?: cloud.bmaas.server.api.AgentPhase|null;
                      uptimeSeconds?: number|Long|null;
                      $unknowns?: Uint8Array[];
                    };
                }

                /**
                 * Properties of a HeartbeatResponse.
                 * @deprecated Use cloud.bmaas.server.api.HeartbeatResponse.$Properties instead.
                 */
                interface IHeartbeatResponse extends cloud.bmaas.server.api.HeartbeatResponse.$Properties {
                }

                /** Represents a HeartbeatResponse. */
                class HeartbeatResponse {

                    /**
                     * Constructs a new HeartbeatResponse.
                     * @param [properties] Properties to set
                     */
                    constructor(properties?: cloud.bmaas.server.api.HeartbeatResponse.$Properties);

                    /** Unknown fields preserved while decoding when enabled */
                    $unknowns?: Uint8Array[];

                    /** HeartbeatResponse installationRequest. */
                    installationRequest?: (cloud.bmaas.server.api.OSInstallationRequest.$Properties|null);

                    /** HeartbeatResponse heartbeatIntervalSeconds. */
                    heartbeatIntervalSeconds: (number|Long);

                    /** HeartbeatResponse sendHardwareReport. */
                    sendHardwareReport: boolean;

                    /** HeartbeatResponse reboot. */
                    reboot: boolean;

                    /**
                     * Creates a new HeartbeatResponse instance using the specified properties.
                     * @param [properties] Properties to set
                     * @returns HeartbeatResponse instance
                     */
                    static create(properties: cloud.bmaas.server.api.HeartbeatResponse.$Shape): cloud.bmaas.server.api.HeartbeatResponse & cloud.bmaas.server.api.HeartbeatResponse.$Shape;
                    static create(properties?: cloud.bmaas.server.api.HeartbeatResponse.$Properties): cloud.bmaas.server.api.HeartbeatResponse;

                    /**
                     * Encodes the specified HeartbeatResponse message. Does not implicitly {@link cloud.bmaas.server.api.HeartbeatResponse.verify|verify} messages.
                     * @param message HeartbeatResponse message or plain object to encode
                     * @param [writer] Writer to encode to
                     * @returns Writer
                     */
                    static encode(message: cloud.bmaas.server.api.HeartbeatResponse.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

                    /**
                     * Decodes a HeartbeatResponse message from the specified reader or buffer.
                     * @param reader Reader or buffer to decode from
                     * @param [length] Message length if known beforehand
                     * @returns {cloud.bmaas.server.api.HeartbeatResponse & cloud.bmaas.server.api.HeartbeatResponse.$Shape} HeartbeatResponse
                     * @throws {Error} If the payload is not a reader or valid buffer
                     * @throws {$protobuf.util.ProtocolError} If required fields are missing
                     */
                    static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): cloud.bmaas.server.api.HeartbeatResponse & cloud.bmaas.server.api.HeartbeatResponse.$Shape;

                    /**
                     * Creates a HeartbeatResponse message from a plain object. Also converts values to their respective internal types.
                     * @param object Plain object
                     * @returns HeartbeatResponse
                     */
                    static fromObject(object: { [k: string]: any }): cloud.bmaas.server.api.HeartbeatResponse;

                    /**
                     * Creates a plain object from a HeartbeatResponse message. Also converts values to other types if specified.
                     * @param message HeartbeatResponse
                     * @param [options] Conversion options
                     * @returns Plain object
                     */
                    static toObject(message: cloud.bmaas.server.api.HeartbeatResponse, options?: $protobuf.IConversionOptions): { [k: string]: any };

                    /**
                     * Converts this HeartbeatResponse to JSON.
                     * @returns JSON object
                     */
                    toJSON(): { [k: string]: any };
                }

                namespace HeartbeatResponse {

                    /** Properties of a HeartbeatResponse. */
                    interface $Properties {

                        /** HeartbeatResponse installationRequest */
                        installationRequest?: (cloud.bmaas.server.api.OSInstallationRequest.$Properties|null);

                        /** HeartbeatResponse heartbeatIntervalSeconds */
                        heartbeatIntervalSeconds?: (number|Long|null);

                        /** HeartbeatResponse sendHardwareReport */
                        sendHardwareReport?: (boolean|null);

                        /** HeartbeatResponse reboot */
                        reboot?: (boolean|null);

                        /** Unknown fields preserved while decoding when enabled */
                        $unknowns?: Uint8Array[];
                    }

                    /** Shape of a HeartbeatResponse. */
                    type $Shape = {
                      installationRequest?: cloud.bmaas.server.api.OSInstallationRequest.$Shape|null;
                      heartbeatIntervalSeconds?: number|Long|null;
                      sendHardwareReport?: boolean|null;
                      reboot?: boolean|null;
                      $unknowns?: Uint8Array[];
                    };
                }

                /**
                 * Properties of an AgentHardwareReport.
                 * @deprecated Use cloud.bmaas.server.api.AgentHardwareReport.$Properties instead.
                 */
                interface IAgentHardwareReport extends cloud.bmaas.server.api.AgentHardwareReport.$Properties {
                }

                /** Represents an AgentHardwareReport. */
                class AgentHardwareReport {

                    /**
                     * Constructs a new AgentHardwareReport.
                     * @param [properties] Properties to set
                     */
                    constructor(properties?: cloud.bmaas.server.api.AgentHardwareReport.$Properties);

                    /** Unknown fields preserved while decoding when enabled */
                    $unknowns?: Uint8Array[];

                    /** AgentHardwareReport report. */
                    report?: (cloud.agent.api.Node.$Properties|null);

                    /** AgentHardwareReport warning. */
                    warning: string[];

                    /**
                     * Creates a new AgentHardwareReport instance using the specified properties.
                     * @param [properties] Properties to set
                     * @returns AgentHardwareReport instance
                     */
                    static create(properties: cloud.bmaas.server.api.AgentHardwareReport.$Shape): cloud.bmaas.server.api.AgentHardwareReport & cloud.bmaas.server.api.AgentHardwareReport.$Shape;
                    static create(properties?: cloud.bmaas.server.api.AgentHardwareReport.$Properties): cloud.bmaas.server.api.AgentHardwareReport;

                    /**
                     * Encodes the specified AgentHardwareReport message. Does not implicitly {@link cloud.bmaas.server.api.AgentHardwareReport.verify|verify} messages.
                     * @param message AgentHardwareReport message or plain object to encode
                     * @param [writer] Writer to encode to
                     * @returns Writer
                     */
                    static encode(message: cloud.bmaas.server.api.AgentHardwareReport.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

                    /**
                     * Decodes an AgentHardwareReport message from the specified reader or buffer.
                     * @param reader Reader or buffer to decode from
                     * @param [length] Message length if known beforehand
                     * @returns {cloud.bmaas.server.api.AgentHardwareReport & cloud.bmaas.server.api.AgentHardwareReport.$Shape} AgentHardwareReport
                     * @throws {Error} If the payload is not a reader or valid buffer
                     * @throws {$protobuf.util.ProtocolError} If required fields are missing
                     */
                    static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): cloud.bmaas.server.api.AgentHardwareReport & cloud.bmaas.server.api.AgentHardwareReport.$Shape;

                    /**
                     * Creates an AgentHardwareReport message from a plain object. Also converts values to their respective internal types.
                     * @param object Plain object
                     * @returns AgentHardwareReport
                     */
                    static fromObject(object: { [k: string]: any }): cloud.bmaas.server.api.AgentHardwareReport;

                    /**
                     * Creates a plain object from an AgentHardwareReport message. Also converts values to other types if specified.
                     * @param message AgentHardwareReport
                     * @param [options] Conversion options
                     * @returns Plain object
                     */
                    static toObject(message: cloud.bmaas.server.api.AgentHardwareReport, options?: $protobuf.IConversionOptions): { [k: string]: any };

                    /**
                     * Converts this AgentHardwareReport to JSON.
                     * @returns JSON object
                     */
                    toJSON(): { [k: string]: any };
                }

                namespace AgentHardwareReport {

                    /** Properties of an AgentHardwareReport. */
                    interface $Properties {

                        /** AgentHardwareReport report */
                        report?: (cloud.agent.api.Node.$Properties|null);

                        /** AgentHardwareReport warning */
                        warning?: (string[]|null);

                        /** Unknown fields preserved while decoding when enabled */
                        $unknowns?: Uint8Array[];
                    }

                    /** Shape of an AgentHardwareReport. */
                    type $Shape = {
                      report?: cloud.agent.api.Node.$Shape|null;
                      warning?: string[]|null;
                      $unknowns?: Uint8Array[];
                    };
                }

                /**
                 * Properties of a OSInstallationReport.
                 * @deprecated Use cloud.bmaas.server.api.OSInstallationReport.$Properties instead.
                 */
                interface IOSInstallationReport extends cloud.bmaas.server.api.OSInstallationReport.$Properties {
                }

                /** Represents a OSInstallationReport. */
                class OSInstallationReport {

                    /**
                     * Constructs a new OSInstallationReport.
                     * @param [properties] Properties to set
                     */
                    constructor(properties?: cloud.bmaas.server.api.OSInstallationReport.$Properties);

                    /** Unknown fields preserved while decoding when enabled */
                    $unknowns?: Uint8Array[];

                    /** OSInstallationReport generation. */
                    generation: (number|Long);

                    /** OSInstallationReport success. */
                    success?: (cloud.bmaas.server.api.OSInstallationReport.Success.$Properties|null);

                    /** OSInstallationReport error. */
                    error?: (cloud.bmaas.server.api.OSInstallationReport.Error.$Properties|null);

                    /** OSInstallationReport result. */
                    result?: ("success"|"error");

                    /**
                     * Creates a new OSInstallationReport instance using the specified properties.
                     * @param [properties] Properties to set
                     * @returns OSInstallationReport instance
                     */
                    static create(properties: cloud.bmaas.server.api.OSInstallationReport.$Shape): cloud.bmaas.server.api.OSInstallationReport & cloud.bmaas.server.api.OSInstallationReport.$Shape;
                    static create(properties?: cloud.bmaas.server.api.OSInstallationReport.$Properties): cloud.bmaas.server.api.OSInstallationReport;

                    /**
                     * Encodes the specified OSInstallationReport message. Does not implicitly {@link cloud.bmaas.server.api.OSInstallationReport.verify|verify} messages.
                     * @param message OSInstallationReport message or plain object to encode
                     * @param [writer] Writer to encode to
                     * @returns Writer
                     */
                    static encode(message: cloud.bmaas.server.api.OSInstallationReport.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

                    /**
                     * Decodes a OSInstallationReport message from the specified reader or buffer.
                     * @param reader Reader or buffer to decode from
                     * @param [length] Message length if known beforehand
                     * @returns {cloud.bmaas.server.api.OSInstallationReport & cloud.bmaas.server.api.OSInstallationReport.$Shape} OSInstallationReport
                     * @throws {Error} If the payload is not a reader or valid buffer
                     * @throws {$protobuf.util.ProtocolError} If required fields are missing
                     */
                    static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): cloud.bmaas.server.api.OSInstallationReport & cloud.bmaas.server.api.OSInstallationReport.$Shape;

                    /**
                     * Creates a OSInstallationReport message from a plain object. Also converts values to their respective internal types.
                     * @param object Plain object
                     * @returns OSInstallationReport
                     */
                    static fromObject(object: { [k: string]: any }): cloud.bmaas.server.api.OSInstallationReport;

                    /**
                     * Creates a plain object from a OSInstallationReport message. Also converts values to other types if specified.
                     * @param message OSInstallationReport
                     * @param [options] Conversion options
                     * @returns Plain object
                     */
                    static toObject(message: cloud.bmaas.server.api.OSInstallationReport, options?: $protobuf.IConversionOptions): { [k: string]: any };

                    /**
                     * Converts this OSInstallationReport to JSON.
                     * @returns JSON object
                     */
                    toJSON(): { [k: string]: any };
                }

                namespace OSInstallationReport {

                    /** Properties of a OSInstallationReport. */
                    interface $Properties {

                        /** OSInstallationReport generation */
                        generation?: (number|Long|null);

                        /** OSInstallationReport success */
                        success?: (cloud.bmaas.server.api.OSInstallationReport.Success.$Properties|null);

                        /** OSInstallationReport error */
                        error?: (cloud.bmaas.server.api.OSInstallationReport.Error.$Properties|null);

                        /** OSInstallationReport result */
                        result?: ("success"|"error");

                        /** Unknown fields preserved while decoding when enabled */
                        $unknowns?: Uint8Array[];
                    }

                    /** Narrowed shape of a OSInstallationReport. */
                    type $Shape = {
                      generation?: number|Long|null;
                      success?: cloud.bmaas.server.api.OSInstallationReport.Success.$Shape|null;
                      error?: cloud.bmaas.server.api.OSInstallationReport.Error.$Shape|null;
                      $unknowns?: Uint8Array[];
                    } & (
                      ({ result?: undefined; success?: null; error?: null }|{ result?: "success"; success: cloud.bmaas.server.api.OSInstallationReport.Success.$Shape; error?: null }|{ result?: "error"; success?: null; error: cloud.bmaas.server.api.OSInstallationReport.Error.$Shape })
                    );

                    /**
                     * Properties of a Success.
                     * @deprecated Use cloud.bmaas.server.api.OSInstallationReport.Success.$Properties instead.
                     */
                    interface ISuccess extends cloud.bmaas.server.api.OSInstallationReport.Success.$Properties {
                    }

                    /** Represents a Success. */
                    class Success {

                        /**
                         * Constructs a new Success.
                         * @param [properties] Properties to set
                         */
                        constructor(properties?: cloud.bmaas.server.api.OSInstallationReport.Success.$Properties);

                        /** Unknown fields preserved while decoding when enabled */
                        $unknowns?: Uint8Array[];

                        /**
                         * Creates a new Success instance using the specified properties.
                         * @param [properties] Properties to set
                         * @returns Success instance
                         */
                        static create(properties: cloud.bmaas.server.api.OSInstallationReport.Success.$Shape): cloud.bmaas.server.api.OSInstallationReport.Success & cloud.bmaas.server.api.OSInstallationReport.Success.$Shape;
                        static create(properties?: cloud.bmaas.server.api.OSInstallationReport.Success.$Properties): cloud.bmaas.server.api.OSInstallationReport.Success;

                        /**
                         * Encodes the specified Success message. Does not implicitly {@link cloud.bmaas.server.api.OSInstallationReport.Success.verify|verify} messages.
                         * @param message Success message or plain object to encode
                         * @param [writer] Writer to encode to
                         * @returns Writer
                         */
                        static encode(message: cloud.bmaas.server.api.OSInstallationReport.Success.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

                        /**
                         * Decodes a Success message from the specified reader or buffer.
                         * @param reader Reader or buffer to decode from
                         * @param [length] Message length if known beforehand
                         * @returns {cloud.bmaas.server.api.OSInstallationReport.Success & cloud.bmaas.server.api.OSInstallationReport.Success.$Shape} Success
                         * @throws {Error} If the payload is not a reader or valid buffer
                         * @throws {$protobuf.util.ProtocolError} If required fields are missing
                         */
                        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): cloud.bmaas.server.api.OSInstallationReport.Success & cloud.bmaas.server.api.OSInstallationReport.Success.$Shape;

                        /**
                         * Creates a Success message from a plain object. Also converts values to their respective internal types.
                         * @param object Plain object
                         * @returns Success
                         */
                        static fromObject(object: { [k: string]: any }): cloud.bmaas.server.api.OSInstallationReport.Success;

                        /**
                         * Creates a plain object from a Success message. Also converts values to other types if specified.
                         * @param message Success
                         * @param [options] Conversion options
                         * @returns Plain object
                         */
                        static toObject(message: cloud.bmaas.server.api.OSInstallationReport.Success, options?: $protobuf.IConversionOptions): { [k: string]: any };

                        /**
                         * Converts this Success to JSON.
                         * @returns JSON object
                         */
                        toJSON(): { [k: string]: any };
                    }

                    namespace Success {

                        /** Properties of a Success. */
                        interface $Properties {

                            /** Unknown fields preserved while decoding when enabled */
                            $unknowns?: Uint8Array[];
                        }

                        /** Shape of a Success. */
                        type $Shape = cloud.bmaas.server.api.OSInstallationReport.Success.$Properties;
                    }

                    /**
                     * Properties of an Error.
                     * @deprecated Use cloud.bmaas.server.api.OSInstallationReport.Error.$Properties instead.
                     */
                    interface IError extends cloud.bmaas.server.api.OSInstallationReport.Error.$Properties {
                    }

                    /** Represents an Error. */
                    class Error {

                        /**
                         * Constructs a new Error.
                         * @param [properties] Properties to set
                         */
                        constructor(properties?: cloud.bmaas.server.api.OSInstallationReport.Error.$Properties);

                        /** Unknown fields preserved while decoding when enabled */
                        $unknowns?: Uint8Array[];

                        /** Error error. */
                        error: string;

                        /**
                         * Creates a new Error instance using the specified properties.
                         * @param [properties] Properties to set
                         * @returns Error instance
                         */
                        static create(properties: cloud.bmaas.server.api.OSInstallationReport.Error.$Shape): cloud.bmaas.server.api.OSInstallationReport.Error & cloud.bmaas.server.api.OSInstallationReport.Error.$Shape;
                        static create(properties?: cloud.bmaas.server.api.OSInstallationReport.Error.$Properties): cloud.bmaas.server.api.OSInstallationReport.Error;

                        /**
                         * Encodes the specified Error message. Does not implicitly {@link cloud.bmaas.server.api.OSInstallationReport.Error.verify|verify} messages.
                         * @param message Error message or plain object to encode
                         * @param [writer] Writer to encode to
                         * @returns Writer
                         */
                        static encode(message: cloud.bmaas.server.api.OSInstallationReport.Error.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

                        /**
                         * Decodes an Error message from the specified reader or buffer.
                         * @param reader Reader or buffer to decode from
                         * @param [length] Message length if known beforehand
                         * @returns {cloud.bmaas.server.api.OSInstallationReport.Error & cloud.bmaas.server.api.OSInstallationReport.Error.$Shape} Error
                         * @throws {Error} If the payload is not a reader or valid buffer
                         * @throws {$protobuf.util.ProtocolError} If required fields are missing
                         */
                        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): cloud.bmaas.server.api.OSInstallationReport.Error & cloud.bmaas.server.api.OSInstallationReport.Error.$Shape;

                        /**
                         * Creates an Error message from a plain object. Also converts values to their respective internal types.
                         * @param object Plain object
                         * @returns Error
                         */
                        static fromObject(object: { [k: string]: any }): cloud.bmaas.server.api.OSInstallationReport.Error;

                        /**
                         * Creates a plain object from an Error message. Also converts values to other types if specified.
                         * @param message Error
                         * @param [options] Conversion options
                         * @returns Plain object
                         */
                        static toObject(message: cloud.bmaas.server.api.OSInstallationReport.Error, options?: $protobuf.IConversionOptions): { [k: string]: any };

                        /**
                         * Converts this Error to JSON.
                         * @returns JSON object
                         */
                        toJSON(): { [k: string]: any };
                    }

                    namespace Error {

                        /** Properties of an Error. */
                        interface $Properties {

                            /** Error error */
                            error?: (string|null);

                            /** Unknown fields preserved while decoding when enabled */
                            $unknowns?: Uint8Array[];
                        }

                        /** Shape of an Error. */
                        type $Shape = cloud.bmaas.server.api.OSInstallationReport.Error.$Properties;
                    }
                }

                /**
                 * Properties of a OSInstallationRequest.
                 * @deprecated Use cloud.bmaas.server.api.OSInstallationRequest.$Properties instead.
                 */
                interface IOSInstallationRequest extends cloud.bmaas.server.api.OSInstallationRequest.$Properties {
                }

                /** Represents a OSInstallationRequest. */
                class OSInstallationRequest {

                    /**
                     * Constructs a new OSInstallationRequest.
                     * @param [properties] Properties to set
                     */
                    constructor(properties?: cloud.bmaas.server.api.OSInstallationRequest.$Properties);

                    /** Unknown fields preserved while decoding when enabled */
                    $unknowns?: Uint8Array[];

                    /** OSInstallationRequest generation. */
                    generation: (number|Long);

                    /** OSInstallationRequest metropolis. */
                    metropolis?: (cloud.bmaas.server.api.MetropolisInstallationRequest.$Properties|null);

                    /** OSInstallationRequest genericImage. */
                    genericImage?: (cloud.bmaas.server.api.GenericImageInstallation.$Properties|null);

                    /** OSInstallationRequest type. */
                    type?: ("metropolis"|"genericImage");

                    /**
                     * Creates a new OSInstallationRequest instance using the specified properties.
                     * @param [properties] Properties to set
                     * @returns OSInstallationRequest instance
                     */
                    static create(properties: cloud.bmaas.server.api.OSInstallationRequest.$Shape): cloud.bmaas.server.api.OSInstallationRequest & cloud.bmaas.server.api.OSInstallationRequest.$Shape;
                    static create(properties?: cloud.bmaas.server.api.OSInstallationRequest.$Properties): cloud.bmaas.server.api.OSInstallationRequest;

                    /**
                     * Encodes the specified OSInstallationRequest message. Does not implicitly {@link cloud.bmaas.server.api.OSInstallationRequest.verify|verify} messages.
                     * @param message OSInstallationRequest message or plain object to encode
                     * @param [writer] Writer to encode to
                     * @returns Writer
                     */
                    static encode(message: cloud.bmaas.server.api.OSInstallationRequest.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

                    /**
                     * Decodes a OSInstallationRequest message from the specified reader or buffer.
                     * @param reader Reader or buffer to decode from
                     * @param [length] Message length if known beforehand
                     * @returns {cloud.bmaas.server.api.OSInstallationRequest & cloud.bmaas.server.api.OSInstallationRequest.$Shape} OSInstallationRequest
                     * @throws {Error} If the payload is not a reader or valid buffer
                     * @throws {$protobuf.util.ProtocolError} If required fields are missing
                     */
                    static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): cloud.bmaas.server.api.OSInstallationRequest & cloud.bmaas.server.api.OSInstallationRequest.$Shape;

                    /**
                     * Creates a OSInstallationRequest message from a plain object. Also converts values to their respective internal types.
                     * @param object Plain object
                     * @returns OSInstallationRequest
                     */
                    static fromObject(object: { [k: string]: any }): cloud.bmaas.server.api.OSInstallationRequest;

                    /**
                     * Creates a plain object from a OSInstallationRequest message. Also converts values to other types if specified.
                     * @param message OSInstallationRequest
                     * @param [options] Conversion options
                     * @returns Plain object
                     */
                    static toObject(message: cloud.bmaas.server.api.OSInstallationRequest, options?: $protobuf.IConversionOptions): { [k: string]: any };

                    /**
                     * Converts this OSInstallationRequest to JSON.
                     * @returns JSON object
                     */
                    toJSON(): { [k: string]: any };
                }

                namespace OSInstallationRequest {

                    /** Properties of a OSInstallationRequest. */
                    interface $Properties {

                        /** OSInstallationRequest generation */
                        generation?: (number|Long|null);

                        /** OSInstallationRequest metropolis */
                        metropolis?: (cloud.bmaas.server.api.MetropolisInstallationRequest.$Properties|null);

                        /** OSInstallationRequest genericImage */
                        genericImage?: (cloud.bmaas.server.api.GenericImageInstallation.$Properties|null);

                        /** OSInstallationRequest type */
                        type?: ("metropolis"|"genericImage");

                        /** Unknown fields preserved while decoding when enabled */
                        $unknowns?: Uint8Array[];
                    }

                    /** Narrowed shape of a OSInstallationRequest. */
                    type $Shape = {
                      generation?: number|Long|null;
                      metropolis?: cloud.bmaas.server.api.MetropolisInstallationRequest.$Shape|null;
                      genericImage?: cloud.bmaas.server.api.GenericImageInstallation.$Shape|null;
                      $unknowns?: Uint8Array[];
                    } & (
                      ({ type?: undefined; metropolis?: null; genericImage?: null }|{ type?: "metropolis"; metropolis: cloud.bmaas.server.api.MetropolisInstallationRequest.$Shape; genericImage?: null }|{ type?: "genericImage"; metropolis?: null; genericImage: cloud.bmaas.server.api.GenericImageInstallation.$Shape })
                    );
                }

                /**
                 * Properties of a MetropolisInstallationRequest.
                 * @deprecated Use cloud.bmaas.server.api.MetropolisInstallationRequest.$Properties instead.
                 */
                interface IMetropolisInstallationRequest extends cloud.bmaas.server.api.MetropolisInstallationRequest.$Properties {
                }

                /** Represents a MetropolisInstallationRequest. */
                class MetropolisInstallationRequest {

                    /**
                     * Constructs a new MetropolisInstallationRequest.
                     * @param [properties] Properties to set
                     */
                    constructor(properties?: cloud.bmaas.server.api.MetropolisInstallationRequest.$Properties);

                    /** Unknown fields preserved while decoding when enabled */
                    $unknowns?: Uint8Array[];

                    /** MetropolisInstallationRequest nodeParameters. */
                    nodeParameters?: (metropolis.proto.api.NodeParameters.$Properties|null);

                    /** MetropolisInstallationRequest rootDevice. */
                    rootDevice: string;

                    /** MetropolisInstallationRequest osImage. */
                    osImage?: (metropolis.proto.api.OSImageRef.$Properties|null);

                    /**
                     * Creates a new MetropolisInstallationRequest instance using the specified properties.
                     * @param [properties] Properties to set
                     * @returns MetropolisInstallationRequest instance
                     */
                    static create(properties: cloud.bmaas.server.api.MetropolisInstallationRequest.$Shape): cloud.bmaas.server.api.MetropolisInstallationRequest & cloud.bmaas.server.api.MetropolisInstallationRequest.$Shape;
                    static create(properties?: cloud.bmaas.server.api.MetropolisInstallationRequest.$Properties): cloud.bmaas.server.api.MetropolisInstallationRequest;

                    /**
                     * Encodes the specified MetropolisInstallationRequest message. Does not implicitly {@link cloud.bmaas.server.api.MetropolisInstallationRequest.verify|verify} messages.
                     * @param message MetropolisInstallationRequest message or plain object to encode
                     * @param [writer] Writer to encode to
                     * @returns Writer
                     */
                    static encode(message: cloud.bmaas.server.api.MetropolisInstallationRequest.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

                    /**
                     * Decodes a MetropolisInstallationRequest message from the specified reader or buffer.
                     * @param reader Reader or buffer to decode from
                     * @param [length] Message length if known beforehand
                     * @returns {cloud.bmaas.server.api.MetropolisInstallationRequest & cloud.bmaas.server.api.MetropolisInstallationRequest.$Shape} MetropolisInstallationRequest
                     * @throws {Error} If the payload is not a reader or valid buffer
                     * @throws {$protobuf.util.ProtocolError} If required fields are missing
                     */
                    static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): cloud.bmaas.server.api.MetropolisInstallationRequest & cloud.bmaas.server.api.MetropolisInstallationRequest.$Shape;

                    /**
                     * Creates a MetropolisInstallationRequest message from a plain object. Also converts values to their respective internal types.
                     * @param object Plain object
                     * @returns MetropolisInstallationRequest
                     */
                    static fromObject(object: { [k: string]: any }): cloud.bmaas.server.api.MetropolisInstallationRequest;

                    /**
                     * Creates a plain object from a MetropolisInstallationRequest message. Also converts values to other types if specified.
                     * @param message MetropolisInstallationRequest
                     * @param [options] Conversion options
                     * @returns Plain object
                     */
                    static toObject(message: cloud.bmaas.server.api.MetropolisInstallationRequest, options?: $protobuf.IConversionOptions): { [k: string]: any };

                    /**
                     * Converts this MetropolisInstallationRequest to JSON.
                     * @returns JSON object
                     */
                    toJSON(): { [k: string]: any };
                }

                namespace MetropolisInstallationRequest {

                    /** Properties of a MetropolisInstallationRequest. */
                    interface $Properties {

                        /** MetropolisInstallationRequest nodeParameters */
                        nodeParameters?: (metropolis.proto.api.NodeParameters.$Properties|null);

                        /** MetropolisInstallationRequest rootDevice */
                        rootDevice?: (string|null);

                        /** MetropolisInstallationRequest osImage */
                        osImage?: (metropolis.proto.api.OSImageRef.$Properties|null);

                        /** Unknown fields preserved while decoding when enabled */
                        $unknowns?: Uint8Array[];
                    }

                    /** Shape of a MetropolisInstallationRequest. */
                    type $Shape = {
                      nodeParameters?: metropolis.proto.api.NodeParameters.$Shape|null;
                      rootDevice?: string|null;
                      osImage?: metropolis.proto.api.OSImageRef.$Shape|null;
                      $unknowns?: Uint8Array[];
                    };
                }

                /**
                 * Properties of a RootDeviceSelector.
                 * @deprecated Use cloud.bmaas.server.api.RootDeviceSelector.$Properties instead.
                 */
                interface IRootDeviceSelector extends cloud.bmaas.server.api.RootDeviceSelector.$Properties {
                }

                /** Represents a RootDeviceSelector. */
                class RootDeviceSelector {

                    /**
                     * Constructs a new RootDeviceSelector.
                     * @param [properties] Properties to set
                     */
                    constructor(properties?: cloud.bmaas.server.api.RootDeviceSelector.$Properties);

                    /** Unknown fields preserved while decoding when enabled */
                    $unknowns?: Uint8Array[];

                    /** RootDeviceSelector name. */
                    name?: (string|null);

                    /** RootDeviceSelector serial. */
                    serial?: (string|null);

                    /** RootDeviceSelector wwn. */
                    wwn?: (Uint8Array|null);

                    /** RootDeviceSelector by. */
                    by?: ("name"|"serial"|"wwn");

                    /**
                     * Creates a new RootDeviceSelector instance using the specified properties.
                     * @param [properties] Properties to set
                     * @returns RootDeviceSelector instance
                     */
                    static create(properties: cloud.bmaas.server.api.RootDeviceSelector.$Shape): cloud.bmaas.server.api.RootDeviceSelector & cloud.bmaas.server.api.RootDeviceSelector.$Shape;
                    static create(properties?: cloud.bmaas.server.api.RootDeviceSelector.$Properties): cloud.bmaas.server.api.RootDeviceSelector;

                    /**
                     * Encodes the specified RootDeviceSelector message. Does not implicitly {@link cloud.bmaas.server.api.RootDeviceSelector.verify|verify} messages.
                     * @param message RootDeviceSelector message or plain object to encode
                     * @param [writer] Writer to encode to
                     * @returns Writer
                     */
                    static encode(message: cloud.bmaas.server.api.RootDeviceSelector.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

                    /**
                     * Decodes a RootDeviceSelector message from the specified reader or buffer.
                     * @param reader Reader or buffer to decode from
                     * @param [length] Message length if known beforehand
                     * @returns {cloud.bmaas.server.api.RootDeviceSelector & cloud.bmaas.server.api.RootDeviceSelector.$Shape} RootDeviceSelector
                     * @throws {Error} If the payload is not a reader or valid buffer
                     * @throws {$protobuf.util.ProtocolError} If required fields are missing
                     */
                    static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): cloud.bmaas.server.api.RootDeviceSelector & cloud.bmaas.server.api.RootDeviceSelector.$Shape;

                    /**
                     * Creates a RootDeviceSelector message from a plain object. Also converts values to their respective internal types.
                     * @param object Plain object
                     * @returns RootDeviceSelector
                     */
                    static fromObject(object: { [k: string]: any }): cloud.bmaas.server.api.RootDeviceSelector;

                    /**
                     * Creates a plain object from a RootDeviceSelector message. Also converts values to other types if specified.
                     * @param message RootDeviceSelector
                     * @param [options] Conversion options
                     * @returns Plain object
                     */
                    static toObject(message: cloud.bmaas.server.api.RootDeviceSelector, options?: $protobuf.IConversionOptions): { [k: string]: any };

                    /**
                     * Converts this RootDeviceSelector to JSON.
                     * @returns JSON object
                     */
                    toJSON(): { [k: string]: any };
                }

                namespace RootDeviceSelector {

                    /** Properties of a RootDeviceSelector. */
                    interface $Properties {

                        /** RootDeviceSelector name */
                        name?: (string|null);

                        /** RootDeviceSelector serial */
                        serial?: (string|null);

                        /** RootDeviceSelector wwn */
                        wwn?: (Uint8Array|null);

                        /** RootDeviceSelector by */
                        by?: ("name"|"serial"|"wwn");

                        /** Unknown fields preserved while decoding when enabled */
                        $unknowns?: Uint8Array[];
                    }

                    /** Narrowed shape of a RootDeviceSelector. */
                    type $Shape = {
                      name?: string|null;
                      serial?: string|null;
                      wwn?: Uint8Array|null;
                      $unknowns?: Uint8Array[];
                    } & (
                      ({ by?: undefined; name?: null; serial?: null; wwn?: null }|{ by?: "name"; name: string; serial?: null; wwn?: null }|{ by?: "serial"; name?: null; serial: string; wwn?: null }|{ by?: "wwn"; name?: null; serial?: null; wwn: Uint8Array })
                    );
                }

                /**
                 * Properties of a GenericImageInstallation.
                 * @deprecated Use cloud.bmaas.server.api.GenericImageInstallation.$Properties instead.
                 */
                interface IGenericImageInstallation extends cloud.bmaas.server.api.GenericImageInstallation.$Properties {
                }

                /** Represents a GenericImageInstallation. */
                class GenericImageInstallation {

                    /**
                     * Constructs a new GenericImageInstallation.
                     * @param [properties] Properties to set
                     */
                    constructor(properties?: cloud.bmaas.server.api.GenericImageInstallation.$Properties);

                    /** Unknown fields preserved while decoding when enabled */
                    $unknowns?: Uint8Array[];

                    /** GenericImageInstallation imageUrl. */
                    imageUrl: string;

                    /** GenericImageInstallation sha256. */
                    sha256: Uint8Array;

                    /** GenericImageInstallation compression. */
                    compression: cloud.bmaas.server.api.GenericImageInstallation.Compression;

                    /** GenericImageInstallation rootDevice. */
                    rootDevice?: (cloud.bmaas.server.api.RootDeviceSelector.$Properties|null);

                    /** GenericImageInstallation cloudInit. */
                    cloudInit?: (Uint8Array|null);

                    /**
                     * Creates a new GenericImageInstallation instance using the specified properties.
                     * @param [properties] Properties to set
                     * @returns GenericImageInstallation instance
                     */
                    static create(properties: cloud.bmaas.server.api.GenericImageInstallation.$Shape): cloud.bmaas.server.api.GenericImageInstallation & cloud.bmaas.server.api.GenericImageInstallation.$Shape;
                    static create(properties?: cloud.bmaas.server.api.GenericImageInstallation.$Properties): cloud.bmaas.server.api.GenericImageInstallation;

                    /**
                     * Encodes the specified GenericImageInstallation message. Does not implicitly {@link cloud.bmaas.server.api.GenericImageInstallation.verify|verify} messages.
                     * @param message GenericImageInstallation message or plain object to encode
                     * @param [writer] Writer to encode to
                     * @returns Writer
                     */
                    static encode(message: cloud.bmaas.server.api.GenericImageInstallation.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

                    /**
                     * Decodes a GenericImageInstallation message from the specified reader or buffer.
                     * @param reader Reader or buffer to decode from
                     * @param [length] Message length if known beforehand
                     * @returns {cloud.bmaas.server.api.GenericImageInstallation & cloud.bmaas.server.api.GenericImageInstallation.$Shape} GenericImageInstallation
                     * @throws {Error} If the payload is not a reader or valid buffer
                     * @throws {$protobuf.util.ProtocolError} If required fields are missing
                     */
                    static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): cloud.bmaas.server.api.GenericImageInstallation & cloud.bmaas.server.api.GenericImageInstallation.$Shape;

                    /**
                     * Creates a GenericImageInstallation message from a plain object. Also converts values to their respective internal types.
                     * @param object Plain object
                     * @returns GenericImageInstallation
                     */
                    static fromObject(object: { [k: string]: any }): cloud.bmaas.server.api.GenericImageInstallation;

                    /**
                     * Creates a plain object from a GenericImageInstallation message. Also converts values to other types if specified.
                     * @param message GenericImageInstallation
                     * @param [options] Conversion options
                     * @returns Plain object
                     */
                    static toObject(message: cloud.bmaas.server.api.GenericImageInstallation, options?: $protobuf.IConversionOptions): { [k: string]: any };

                    /**
                     * Converts this GenericImageInstallation to JSON.
                     * @returns JSON object
                     */
                    toJSON(): { [k: string]: any };
                }

                namespace GenericImageInstallation {

                    /** Properties of a GenericImageInstallation. */
                    interface $Properties {

                        /** GenericImageInstallation imageUrl */
                        imageUrl?: (string|null);

                        /** GenericImageInstallation sha256 */
                        sha256?: (Uint8Array|null);

                        /** GenericImageInstallation compression */
                        compression?: (cloud.bmaas.server.api.GenericImageInstallation.Compression|null);

                        /** GenericImageInstallation rootDevice */
                        rootDevice?: (cloud.bmaas.server.api.RootDeviceSelector.$Properties|null);

                        /** GenericImageInstallation cloudInit */
                        cloudInit?: (Uint8Array|null);

                        /** Unknown fields preserved while decoding when enabled */
                        $unknowns?: Uint8Array[];
                    }

                    /** Shape of a GenericImageInstallation. */
                    type $Shape = {
                      imageUrl?: string|null;
                      sha256?: Uint8Array|null;
                      compression?: cloud.bmaas.server.api.GenericImageInstallation.Compression|null;
                      rootDevice?: cloud.bmaas.server.api.RootDeviceSelector.$Shape|null;
                      cloudInit?: Uint8Array|null;
                      $unknowns?: Uint8Array[];
                    };

                    /** Compression enum. */
                    enum Compression {

                        /** COMPRESSION_NONE value */
                        COMPRESSION_NONE = 0,

                        /** COMPRESSION_GZIP value */
                        COMPRESSION_GZIP = 1,

                        /** COMPRESSION_ZSTD value */
                        COMPRESSION_ZSTD = 2,

                        /** COMPRESSION_XZ value */
                        COMPRESSION_XZ = 3
                    }
                }
            }
        }
    }
}

/** Namespace osbase. */
export namespace osbase {

    /** Namespace net. */
    namespace net {

        /** Namespace proto. */
        namespace proto {

            /**
             * Properties of a Net.
             * @deprecated Use osbase.net.proto.Net.$Properties instead.
             */
            interface INet extends osbase.net.proto.Net.$Properties {
            }

            /** Represents a Net. */
            class Net {

                /**
                 * Constructs a new Net.
                 * @param [properties] Properties to set
                 */
                constructor(properties?: osbase.net.proto.Net.$Properties);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];

                /** Net interface. */
                interface: osbase.net.proto.Interface.$Properties[];

                /** Net nameserver. */
                nameserver: osbase.net.proto.Nameserver.$Properties[];

                /**
                 * Creates a new Net instance using the specified properties.
                 * @param [properties] Properties to set
                 * @returns Net instance
                 */
                static create(properties: osbase.net.proto.Net.$Shape): osbase.net.proto.Net & osbase.net.proto.Net.$Shape;
                static create(properties?: osbase.net.proto.Net.$Properties): osbase.net.proto.Net;

                /**
                 * Encodes the specified Net message. Does not implicitly {@link osbase.net.proto.Net.verify|verify} messages.
                 * @param message Net message or plain object to encode
                 * @param [writer] Writer to encode to
                 * @returns Writer
                 */
                static encode(message: osbase.net.proto.Net.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

                /**
                 * Decodes a Net message from the specified reader or buffer.
                 * @param reader Reader or buffer to decode from
                 * @param [length] Message length if known beforehand
                 * @returns {osbase.net.proto.Net & osbase.net.proto.Net.$Shape} Net
                 * @throws {Error} If the payload is not a reader or valid buffer
                 * @throws {$protobuf.util.ProtocolError} If required fields are missing
                 */
                static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): osbase.net.proto.Net & osbase.net.proto.Net.$Shape;

                /**
                 * Creates a Net message from a plain object. Also converts values to their respective internal types.
                 * @param object Plain object
                 * @returns Net
                 */
                static fromObject(object: { [k: string]: any }): osbase.net.proto.Net;

                /**
                 * Creates a plain object from a Net message. Also converts values to other types if specified.
                 * @param message Net
                 * @param [options] Conversion options
                 * @returns Plain object
                 */
                static toObject(message: osbase.net.proto.Net, options?: $protobuf.IConversionOptions): { [k: string]: any };

                /**
                 * Converts this Net to JSON.
                 * @returns JSON object
                 */
                toJSON(): { [k: string]: any };
            }

            namespace Net {

                /** Properties of a Net. */
                interface $Properties {

                    /** Net interface */
                    "interface"?: (osbase.net.proto.Interface.$Properties[]|null);

                    /** Net nameserver */
                    nameserver?: (osbase.net.proto.Nameserver.$Properties[]|null);

                    /** Unknown fields preserved while decoding when enabled */
                    $unknowns?: Uint8Array[];
                }

                /** Shape of a Net. */
                type $Shape = {
                  "interface"?: osbase.net.proto.Interface.$Shape[]|null;
                  nameserver?: osbase.net.proto.Nameserver.$Shape[]|null;
                  $unknowns?: Uint8Array[];
                };
            }

            /**
             * Properties of a Nameserver.
             * @deprecated Use osbase.net.proto.Nameserver.$Properties instead.
             */
            interface INameserver extends osbase.net.proto.Nameserver.$Properties {
            }

            /** Represents a Nameserver. */
            class Nameserver {

                /**
                 * Constructs a new Nameserver.
                 * @param [properties] Properties to set
                 */
                constructor(properties?: osbase.net.proto.Nameserver.$Properties);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];

                /** Nameserver ip. */
                ip: string;

                /**
                 * Creates a new Nameserver instance using the specified properties.
                 * @param [properties] Properties to set
                 * @returns Nameserver instance
                 */
                static create(properties: osbase.net.proto.Nameserver.$Shape): osbase.net.proto.Nameserver & osbase.net.proto.Nameserver.$Shape;
                static create(properties?: osbase.net.proto.Nameserver.$Properties): osbase.net.proto.Nameserver;

                /**
                 * Encodes the specified Nameserver message. Does not implicitly {@link osbase.net.proto.Nameserver.verify|verify} messages.
                 * @param message Nameserver message or plain object to encode
                 * @param [writer] Writer to encode to
                 * @returns Writer
                 */
                static encode(message: osbase.net.proto.Nameserver.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

                /**
                 * Decodes a Nameserver message from the specified reader or buffer.
                 * @param reader Reader or buffer to decode from
                 * @param [length] Message length if known beforehand
                 * @returns {osbase.net.proto.Nameserver & osbase.net.proto.Nameserver.$Shape} Nameserver
                 * @throws {Error} If the payload is not a reader or valid buffer
                 * @throws {$protobuf.util.ProtocolError} If required fields are missing
                 */
                static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): osbase.net.proto.Nameserver & osbase.net.proto.Nameserver.$Shape;

                /**
                 * Creates a Nameserver message from a plain object. Also converts values to their respective internal types.
                 * @param object Plain object
                 * @returns Nameserver
                 */
                static fromObject(object: { [k: string]: any }): osbase.net.proto.Nameserver;

                /**
                 * Creates a plain object from a Nameserver message. Also converts values to other types if specified.
                 * @param message Nameserver
                 * @param [options] Conversion options
                 * @returns Plain object
                 */
                static toObject(message: osbase.net.proto.Nameserver, options?: $protobuf.IConversionOptions): { [k: string]: any };

                /**
                 * Converts this Nameserver to JSON.
                 * @returns JSON object
                 */
                toJSON(): { [k: string]: any };
            }

            namespace Nameserver {

                /** Properties of a Nameserver. */
                interface $Properties {

                    /** Nameserver ip */
                    ip?: (string|null);

                    /** Unknown fields preserved while decoding when enabled */
                    $unknowns?: Uint8Array[];
                }

                /** Shape of a Nameserver. */
                type $Shape = osbase.net.proto.Nameserver.$Properties;
            }

            /**
             * Properties of an Interface.
             * @deprecated Use osbase.net.proto.Interface.$Properties instead.
             */
            interface IInterface extends osbase.net.proto.Interface.$Properties {
            }

            /** Represents an Interface. */
            class Interface {

                /**
                 * Constructs a new Interface.
                 * @param [properties] Properties to set
                 */
                constructor(properties?: osbase.net.proto.Interface.$Properties);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];

                /** Interface name. */
                name: string;

                /** Interface device. */
                device?: (Uint8Array|null);

                /** Interface bond. */
                bond?: (Uint8Array|null);

                /** Interface vlan. */
                vlan?: (Uint8Array|null);

                /** Interface ipv4Autoconfig. */
                ipv4Autoconfig?: (osbase.net.proto.IPv4Autoconfig.$Properties|null);

                /** Interface ipv6Autoconfig. */
                ipv6Autoconfig?: (osbase.net.proto.IPv6Autoconfig.$Properties|null);

                /** Interface address. */
                address: string[];

                /** Interface mtu. */
                mtu: number;

                /** Interface route. */
                route: osbase.net.proto.Route.$Properties[];

                /** Interface type. */
                type?: ("device"|"bond"|"vlan");

                /**
                 * Creates a new Interface instance using the specified properties.
                 * @param [properties] Properties to set
                 * @returns Interface instance
                 */
                static create(properties: osbase.net.proto.Interface.$Shape): osbase.net.proto.Interface & osbase.net.proto.Interface.$Shape;
                static create(properties?: osbase.net.proto.Interface.$Properties): osbase.net.proto.Interface;

                /**
                 * Encodes the specified Interface message. Does not implicitly {@link osbase.net.proto.Interface.verify|verify} messages.
                 * @param message Interface message or plain object to encode
                 * @param [writer] Writer to encode to
                 * @returns Writer
                 */
                static encode(message: osbase.net.proto.Interface.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

                /**
                 * Decodes an Interface message from the specified reader or buffer.
                 * @param reader Reader or buffer to decode from
                 * @param [length] Message length if known beforehand
                 * @returns {osbase.net.proto.Interface & osbase.net.proto.Interface.$Shape} Interface
                 * @throws {Error} If the payload is not a reader or valid buffer
                 * @throws {$protobuf.util.ProtocolError} If required fields are missing
                 */
                static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): osbase.net.proto.Interface & osbase.net.proto.Interface.$Shape;

                /**
                 * Creates an Interface message from a plain object. Also converts values to their respective internal types.
                 * @param object Plain object
                 * @returns Interface
                 */
                static fromObject(object: { [k: string]: any }): osbase.net.proto.Interface;

                /**
                 * Creates a plain object from an Interface message. Also converts values to other types if specified.
                 * @param message Interface
                 * @param [options] Conversion options
                 * @returns Plain object
                 */
                static toObject(message: osbase.net.proto.Interface, options?: $protobuf.IConversionOptions): { [k: string]: any };

                /**
                 * Converts this Interface to JSON.
                 * @returns JSON object
                 */
                toJSON(): { [k: string]: any };
            }

            namespace Interface {

                /** Properties of an Interface. */
                interface $Properties {

                    /** Interface name */
                    name?: (string|null);

                    /** Interface device */
                    device?: (Uint8Array|null);

                    /** Interface bond */
                    bond?: (Uint8Array|null);

                    /** Interface vlan */
                    vlan?: (Uint8Array|null);

                    /** Interface ipv4Autoconfig */
                    ipv4Autoconfig?: (osbase.net.proto.IPv4Autoconfig.$Properties|null);

                    /** Interface ipv6Autoconfig */
                    ipv6Autoconfig?: (osbase.net.proto.IPv6Autoconfig.$Properties|null);

                    /** Interface address */
                    address?: (string[]|null);

                    /** Interface mtu */
                    mtu?: (number|null);

                    /** Interface route */
                    route?: (osbase.net.proto.Route.$Properties[]|null);

                    /** Interface type */
                    type?: ("device"|"bond"|"vlan");

                    /** Unknown fields preserved while decoding when enabled */
                    $unknowns?: Uint8Array[];
                }

                /** Narrowed shape of an Interface. */
                type $Shape = {
                  name?: string|null;
                  device?: Uint8Array|null;
                  bond?: Uint8Array|null;
                  vlan?: Uint8Array|null;
                  ipv4Autoconfig?: osbase.net.proto.IPv4Autoconfig.$Shape|null;
                  ipv6Autoconfig?: osbase.net.proto.IPv6Autoconfig.$Shape|null;
                  address?: string[]|null;
                  mtu?: number|null;
                  route?: osbase.net.proto.Route.$Shape[]|null;
                  $unknowns?: Uint8Array[];
                } & (
                  ({ type?: undefined; device?: null; bond?: null; vlan?: null }|{ type?: "device"; device: Uint8Array; bond?: null; vlan?: null }|{ type?: "bond"; device?: null; bond: Uint8Array; vlan?: null }|{ type?: "vlan"; device?: null; bond?: null; vlan: Uint8Array })
                );
            }

            /**
             * Properties of a IPv4Autoconfig.
             * @deprecated Use osbase.net.proto.IPv4Autoconfig.$Properties instead.
             */
            interface IIPv4Autoconfig extends osbase.net.proto.IPv4Autoconfig.$Properties {
            }

            /** Represents a IPv4Autoconfig. */
            class IPv4Autoconfig {

                /**
                 * Constructs a new IPv4Autoconfig.
                 * @param [properties] Properties to set
                 */
                constructor(properties?: osbase.net.proto.IPv4Autoconfig.$Properties);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];

                /**
                 * Creates a new IPv4Autoconfig instance using the specified properties.
                 * @param [properties] Properties to set
                 * @returns IPv4Autoconfig instance
                 */
                static create(properties: osbase.net.proto.IPv4Autoconfig.$Shape): osbase.net.proto.IPv4Autoconfig & osbase.net.proto.IPv4Autoconfig.$Shape;
                static create(properties?: osbase.net.proto.IPv4Autoconfig.$Properties): osbase.net.proto.IPv4Autoconfig;

                /**
                 * Encodes the specified IPv4Autoconfig message. Does not implicitly {@link osbase.net.proto.IPv4Autoconfig.verify|verify} messages.
                 * @param message IPv4Autoconfig message or plain object to encode
                 * @param [writer] Writer to encode to
                 * @returns Writer
                 */
                static encode(message: osbase.net.proto.IPv4Autoconfig.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

                /**
                 * Decodes a IPv4Autoconfig message from the specified reader or buffer.
                 * @param reader Reader or buffer to decode from
                 * @param [length] Message length if known beforehand
                 * @returns {osbase.net.proto.IPv4Autoconfig & osbase.net.proto.IPv4Autoconfig.$Shape} IPv4Autoconfig
                 * @throws {Error} If the payload is not a reader or valid buffer
                 * @throws {$protobuf.util.ProtocolError} If required fields are missing
                 */
                static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): osbase.net.proto.IPv4Autoconfig & osbase.net.proto.IPv4Autoconfig.$Shape;

                /**
                 * Creates a IPv4Autoconfig message from a plain object. Also converts values to their respective internal types.
                 * @param object Plain object
                 * @returns IPv4Autoconfig
                 */
                static fromObject(object: { [k: string]: any }): osbase.net.proto.IPv4Autoconfig;

                /**
                 * Creates a plain object from a IPv4Autoconfig message. Also converts values to other types if specified.
                 * @param message IPv4Autoconfig
                 * @param [options] Conversion options
                 * @returns Plain object
                 */
                static toObject(message: osbase.net.proto.IPv4Autoconfig, options?: $protobuf.IConversionOptions): { [k: string]: any };

                /**
                 * Converts this IPv4Autoconfig to JSON.
                 * @returns JSON object
                 */
                toJSON(): { [k: string]: any };
            }

            namespace IPv4Autoconfig {

                /** Properties of a IPv4Autoconfig. */
                interface $Properties {

                    /** Unknown fields preserved while decoding when enabled */
                    $unknowns?: Uint8Array[];
                }

                /** Shape of a IPv4Autoconfig. */
                type $Shape = osbase.net.proto.IPv4Autoconfig.$Properties;
            }

            /**
             * Properties of a IPv6Autoconfig.
             * @deprecated Use osbase.net.proto.IPv6Autoconfig.$Properties instead.
             */
            interface IIPv6Autoconfig extends osbase.net.proto.IPv6Autoconfig.$Properties {
            }

            /** Represents a IPv6Autoconfig. */
            class IPv6Autoconfig {

                /**
                 * Constructs a new IPv6Autoconfig.
                 * @param [properties] Properties to set
                 */
                constructor(properties?: osbase.net.proto.IPv6Autoconfig.$Properties);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];

                /** IPv6Autoconfig privacy. */
                privacy: osbase.net.proto.IPv6Autoconfig.Privacy;

                /**
                 * Creates a new IPv6Autoconfig instance using the specified properties.
                 * @param [properties] Properties to set
                 * @returns IPv6Autoconfig instance
                 */
                static create(properties: osbase.net.proto.IPv6Autoconfig.$Shape): osbase.net.proto.IPv6Autoconfig & osbase.net.proto.IPv6Autoconfig.$Shape;
                static create(properties?: osbase.net.proto.IPv6Autoconfig.$Properties): osbase.net.proto.IPv6Autoconfig;

                /**
                 * Encodes the specified IPv6Autoconfig message. Does not implicitly {@link osbase.net.proto.IPv6Autoconfig.verify|verify} messages.
                 * @param message IPv6Autoconfig message or plain object to encode
                 * @param [writer] Writer to encode to
                 * @returns Writer
                 */
                static encode(message: osbase.net.proto.IPv6Autoconfig.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

                /**
                 * Decodes a IPv6Autoconfig message from the specified reader or buffer.
                 * @param reader Reader or buffer to decode from
                 * @param [length] Message length if known beforehand
                 * @returns {osbase.net.proto.IPv6Autoconfig & osbase.net.proto.IPv6Autoconfig.$Shape} IPv6Autoconfig
                 * @throws {Error} If the payload is not a reader or valid buffer
                 * @throws {$protobuf.util.ProtocolError} If required fields are missing
                 */
                static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): osbase.net.proto.IPv6Autoconfig & osbase.net.proto.IPv6Autoconfig.$Shape;

                /**
                 * Creates a IPv6Autoconfig message from a plain object. Also converts values to their respective internal types.
                 * @param object Plain object
                 * @returns IPv6Autoconfig
                 */
                static fromObject(object: { [k: string]: any }): osbase.net.proto.IPv6Autoconfig;

                /**
                 * Creates a plain object from a IPv6Autoconfig message. Also converts values to other types if specified.
                 * @param message IPv6Autoconfig
                 * @param [options] Conversion options
                 * @returns Plain object
                 */
                static toObject(message: osbase.net.proto.IPv6Autoconfig, options?: $protobuf.IConversionOptions): { [k: string]: any };

                /**
                 * Converts this IPv6Autoconfig to JSON.
                 * @returns JSON object
                 */
                toJSON(): { [k: string]: any };
            }

            namespace IPv6Autoconfig {

                /** Properties of a IPv6Autoconfig. */
                interface $Properties {

                    /** IPv6Autoconfig privacy */
                    privacy?: (osbase.net.proto.IPv6Autoconfig.Privacy|null);

                    /** Unknown fields preserved while decoding when enabled */
                    $unknowns?: Uint8Array[];
                }

                /** Shape of a IPv6Autoconfig. */
                type $Shape = osbase.net.proto.IPv6Autoconfig.$Properties;

                /** Privacy enum. */
                enum Privacy {

                    /** DISABLE value */
                    DISABLE = 0,

                    /** AVOID value */
                    AVOID = 1,

                    /** PREFER value */
                    PREFER = 2
                }
            }

            /**
             * Properties of a Route.
             * @deprecated Use osbase.net.proto.Route.$Properties instead.
             */
            interface IRoute extends osbase.net.proto.Route.$Properties {
            }

            /** Represents a Route. */
            class Route {

                /**
                 * Constructs a new Route.
                 * @param [properties] Properties to set
                 */
                constructor(properties?: osbase.net.proto.Route.$Properties);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];

                /** Route destination. */
                destination: string;

                /** Route gatewayIp. */
                gatewayIp: string;

                /** Route sourceIp. */
                sourceIp: string;

                /** Route metric. */
                metric: number;

                /**
                 * Creates a new Route instance using the specified properties.
                 * @param [properties] Properties to set
                 * @returns Route instance
                 */
                static create(properties: osbase.net.proto.Route.$Shape): osbase.net.proto.Route & osbase.net.proto.Route.$Shape;
                static create(properties?: osbase.net.proto.Route.$Properties): osbase.net.proto.Route;

                /**
                 * Encodes the specified Route message. Does not implicitly {@link osbase.net.proto.Route.verify|verify} messages.
                 * @param message Route message or plain object to encode
                 * @param [writer] Writer to encode to
                 * @returns Writer
                 */
                static encode(message: osbase.net.proto.Route.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

                /**
                 * Decodes a Route message from the specified reader or buffer.
                 * @param reader Reader or buffer to decode from
                 * @param [length] Message length if known beforehand
                 * @returns {osbase.net.proto.Route & osbase.net.proto.Route.$Shape} Route
                 * @throws {Error} If the payload is not a reader or valid buffer
                 * @throws {$protobuf.util.ProtocolError} If required fields are missing
                 */
                static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): osbase.net.proto.Route & osbase.net.proto.Route.$Shape;

                /**
                 * Creates a Route message from a plain object. Also converts values to their respective internal types.
                 * @param object Plain object
                 * @returns Route
                 */
                static fromObject(object: { [k: string]: any }): osbase.net.proto.Route;

                /**
                 * Creates a plain object from a Route message. Also converts values to other types if specified.
                 * @param message Route
                 * @param [options] Conversion options
                 * @returns Plain object
                 */
                static toObject(message: osbase.net.proto.Route, options?: $protobuf.IConversionOptions): { [k: string]: any };

                /**
                 * Converts this Route to JSON.
                 * @returns JSON object
                 */
                toJSON(): { [k: string]: any };
            }

            namespace Route {

                /** Properties of a Route. */
                interface $Properties {

                    /** Route destination */
                    destination?: (string|null);

                    /** Route gatewayIp */
                    gatewayIp?: (string|null);

                    /** Route sourceIp */
                    sourceIp?: (string|null);

                    /** Route metric */
                    metric?: (number|null);

                    /** Unknown fields preserved while decoding when enabled */
                    $unknowns?: Uint8Array[];
                }

                /** Shape of a Route. */
                type $Shape = osbase.net.proto.Route.$Properties;
            }
        }
    }
}

/** Namespace metropolis. */
export namespace metropolis {

    /** Namespace proto. */
    namespace proto {

        /** Namespace api. */
        namespace api {

            /**
             * Properties of a OSImageRef.
             * @deprecated Use metropolis.proto.api.OSImageRef.$Properties instead.
             */
            interface IOSImageRef extends metropolis.proto.api.OSImageRef.$Properties {
            }

            /** Represents a OSImageRef. */
            class OSImageRef {

                /**
                 * Constructs a new OSImageRef.
                 * @param [properties] Properties to set
                 */
                constructor(properties?: metropolis.proto.api.OSImageRef.$Properties);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];

                /** OSImageRef scheme. */
                scheme: string;

                /** OSImageRef host. */
                host: string;

                /** OSImageRef repository. */
                repository: string;

                /** OSImageRef tag. */
                tag: string;

                /** OSImageRef digest. */
                digest: string;

                /**
                 * Creates a new OSImageRef instance using the specified properties.
                 * @param [properties] Properties to set
                 * @returns OSImageRef instance
                 */
                static create(properties: metropolis.proto.api.OSImageRef.$Shape): metropolis.proto.api.OSImageRef & metropolis.proto.api.OSImageRef.$Shape;
                static create(properties?: metropolis.proto.api.OSImageRef.$Properties): metropolis.proto.api.OSImageRef;

                /**
                 * Encodes the specified OSImageRef message. Does not implicitly {@link metropolis.proto.api.OSImageRef.verify|verify} messages.
                 * @param message OSImageRef message or plain object to encode
                 * @param [writer] Writer to encode to
                 * @returns Writer
                 */
                static encode(message: metropolis.proto.api.OSImageRef.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

                /**
                 * Decodes a OSImageRef message from the specified reader or buffer.
                 * @param reader Reader or buffer to decode from
                 * @param [length] Message length if known beforehand
                 * @returns {metropolis.proto.api.OSImageRef & metropolis.proto.api.OSImageRef.$Shape} OSImageRef
                 * @throws {Error} If the payload is not a reader or valid buffer
                 * @throws {$protobuf.util.ProtocolError} If required fields are missing
                 */
                static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): metropolis.proto.api.OSImageRef & metropolis.proto.api.OSImageRef.$Shape;

                /**
                 * Creates a OSImageRef message from a plain object. Also converts values to their respective internal types.
                 * @param object Plain object
                 * @returns OSImageRef
                 */
                static fromObject(object: { [k: string]: any }): metropolis.proto.api.OSImageRef;

                /**
                 * Creates a plain object from a OSImageRef message. Also converts values to other types if specified.
                 * @param message OSImageRef
                 * @param [options] Conversion options
                 * @returns Plain object
                 */
                static toObject(message: metropolis.proto.api.OSImageRef, options?: $protobuf.IConversionOptions): { [k: string]: any };

                /**
                 * Converts this OSImageRef to JSON.
                 * @returns JSON object
                 */
                toJSON(): { [k: string]: any };
            }

            namespace OSImageRef {

                /** Properties of a OSImageRef. */
                interface $Properties {

                    /** OSImageRef scheme */
                    scheme?: (string|null);

                    /** OSImageRef host */
                    host?: (string|null);

                    /** OSImageRef repository */
                    repository?: (string|null);

                    /** OSImageRef tag */
                    tag?: (string|null);

                    /** OSImageRef digest */
                    digest?: (string|null);

                    /** Unknown fields preserved while decoding when enabled */
                    $unknowns?: Uint8Array[];
                }

                /** Shape of a OSImageRef. */
                type $Shape = metropolis.proto.api.OSImageRef.$Properties;
            }

            /**
             * Properties of a NodeParameters.
             * @deprecated Use metropolis.proto.api.NodeParameters.$Properties instead.
             */
            interface INodeParameters extends metropolis.proto.api.NodeParameters.$Properties {
            }

            /** Represents a NodeParameters. */
            class NodeParameters {

                /**
                 * Constructs a new NodeParameters.
                 * @param [properties] Properties to set
                 */
                constructor(properties?: metropolis.proto.api.NodeParameters.$Properties);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];

                /** NodeParameters clusterBootstrap. */
                clusterBootstrap?: (Uint8Array|null);

                /** NodeParameters clusterRegister. */
                clusterRegister?: (Uint8Array|null);

                /** NodeParameters networkConfig. */
                networkConfig?: (osbase.net.proto.Net.$Properties|null);

                /** NodeParameters cluster. */
                cluster?: ("clusterBootstrap"|"clusterRegister");

                /**
                 * Creates a new NodeParameters instance using the specified properties.
                 * @param [properties] Properties to set
                 * @returns NodeParameters instance
                 */
                static create(properties: metropolis.proto.api.NodeParameters.$Shape): metropolis.proto.api.NodeParameters & metropolis.proto.api.NodeParameters.$Shape;
                static create(properties?: metropolis.proto.api.NodeParameters.$Properties): metropolis.proto.api.NodeParameters;

                /**
                 * Encodes the specified NodeParameters message. Does not implicitly {@link metropolis.proto.api.NodeParameters.verify|verify} messages.
                 * @param message NodeParameters message or plain object to encode
                 * @param [writer] Writer to encode to
                 * @returns Writer
                 */
                static encode(message: metropolis.proto.api.NodeParameters.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

                /**
                 * Decodes a NodeParameters message from the specified reader or buffer.
                 * @param reader Reader or buffer to decode from
                 * @param [length] Message length if known beforehand
                 * @returns {metropolis.proto.api.NodeParameters & metropolis.proto.api.NodeParameters.$Shape} NodeParameters
                 * @throws {Error} If the payload is not a reader or valid buffer
                 * @throws {$protobuf.util.ProtocolError} If required fields are missing
                 */
                static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): metropolis.proto.api.NodeParameters & metropolis.proto.api.NodeParameters.$Shape;

                /**
                 * Creates a NodeParameters message from a plain object. Also converts values to their respective internal types.
                 * @param object Plain object
                 * @returns NodeParameters
                 */
                static fromObject(object: { [k: string]: any }): metropolis.proto.api.NodeParameters;

                /**
                 * Creates a plain object from a NodeParameters message. Also converts values to other types if specified.
                 * @param message NodeParameters
                 * @param [options] Conversion options
                 * @returns Plain object
                 */
                static toObject(message: metropolis.proto.api.NodeParameters, options?: $protobuf.IConversionOptions): { [k: string]: any };

                /**
                 * Converts this NodeParameters to JSON.
                 * @returns JSON object
                 */
                toJSON(): { [k: string]: any };
            }

            namespace NodeParameters {

                /** Properties of a NodeParameters. */
                interface $Properties {

                    /** NodeParameters clusterBootstrap */
                    clusterBootstrap?: (Uint8Array|null);

                    /** NodeParameters clusterRegister */
                    clusterRegister?: (Uint8Array|null);

                    /** NodeParameters networkConfig */
                    networkConfig?: (osbase.net.proto.Net.$Properties|null);

                    /** NodeParameters cluster */
                    cluster?: ("clusterBootstrap"|"clusterRegister");

                    /** Unknown fields preserved while decoding when enabled */
                    $unknowns?: Uint8Array[];
                }

                /** Narrowed shape of a NodeParameters. */
                type $Shape = {
                  clusterBootstrap?: Uint8Array|null;
                  clusterRegister?: Uint8Array|null;
                  networkConfig?: osbase.net.proto.Net.$Shape|null;
                  $unknowns?: Uint8Array[];
                } & (
                  ({ cluster?: undefined; clusterBootstrap?: null; clusterRegister?: null }|{ cluster?: "clusterBootstrap"; clusterBootstrap: Uint8Array; clusterRegister?: null }|{ cluster?: "clusterRegister"; clusterBootstrap?: null; clusterRegister: Uint8Array })
                );
            }
        }
    }
}
