// @ts-check
// A layer of deck.gl with one vertex a point. deck.gl's own layer of circles has four of them, each
// with the mathematics of maps of the world: eight times slower where the GPU is slow, and round.

/** @type {any} */
const deck = /** @type {any} */ (globalThis).deck;
/** @type {any} */
const luma = /** @type {any} */ (globalThis).luma;

const VERTEX = `#version 300 es
in vec2 places;
in vec4 inks;
in vec4 marks;
out vec4 ink;
flat out vec3 mark;
void main() {
  gl_Position = project_position_to_clipspace(vec3(places, 0.0), vec3(0.0), vec3(0.0));
  vec4 read = floor(marks * 255.0 + 0.5);
  gl_PointSize = read.g * 0.25 * points.scale;
  mark = vec3(read.r, gl_PointSize, read.b);
  ink = inks;
}`;

// How far a place is from the middle of the mark, 1 at its edge; shapes as SHAPES in palette.js.
const FRAGMENT = `#version 300 es
precision highp float;
in vec4 ink;
flat in vec3 mark;
out vec4 fragColor;
void main() {
  vec2 p = gl_PointCoord * 2.0 - 1.0;
  float far = length(p) * 1.1;
  if (mark.x > 2.5) far = abs(p.x) + abs(p.y);
  else if (mark.x > 1.5) far = max(abs(p.x) * 1.03 + p.y * 0.6 + 0.49, -p.y * 1.15);
  else if (mark.x > 0.5) far = max(abs(p.x), abs(p.y)) * 1.25;
  float cover = clamp((1.0 - far) * mark.y * 0.5, 0.0, 1.0);
  if (cover <= 0.0) discard;
  float edge = min(mark.z, 1.0) * clamp((far - 1.0) * mark.y * 0.5 + 2.0 * points.scale, 0.0, 1.0);
  fragColor = vec4(mix(ink.rgb, points.edge.rgb, edge), max(ink.a, edge) * cover);
}`;

// One field a line: luma.gl compares them with the types below.
const BLOCK = `layout(std140) uniform pointsUniforms {
  vec4 edge;
  float scale;
} points;
`;

const UNIFORMS = {
  name: 'points',
  vs: BLOCK,
  fs: BLOCK,
  uniformTypes: { edge: 'vec4<f32>', scale: 'f32' },
};

// If deck.gl could not be loaded, the page has no map and never makes this layer.
const Layer = deck?.Layer ?? Object;

export class PointsLayer extends Layer {
  getShaders() {
    return super.getShaders({ vs: VERTEX, fs: FRAGMENT, modules: [deck.project32, UNIFORMS] });
  }

  initializeState() {
    const attributes = this.getAttributeManager();
    attributes.add({
      places: { size: 2, accessor: 'getPlace' },
      inks: { size: 4, type: 'unorm8', accessor: 'getInk' },
      marks: { size: 4, type: 'unorm8', accessor: 'getMark' },
    });
    const model = new luma.Model(this.context.device, {
      ...this.getShaders(),
      id: this.props.id,
      bufferLayout: attributes.getBufferLayouts(),
      topology: 'point-list',
      vertexCount: this.props.data.length,
    });
    this.setState({ model });
  }

  draw() {
    const { model } = this.state;
    model.shaderInputs.setProps({ points: { edge: this.props.edge, scale: this.props.scale } });
    model.setVertexCount(this.props.data.length);
    model.draw(this.context.renderPass);
  }
}
PointsLayer.layerName = 'PointsLayer';

/**
 * @param {string} id
 * @param {Marks} marks
 * @param {[number, number, number, number]} edge colour of the edge of marks that have one, 0 to 1
 * @typedef {{places: {value: Float32Array, size: number}, inks: Uint8Array, marks: Uint8Array}} Marks
 */
export function pointsLayer(id, marks, edge) {
  return new PointsLayer({
    id,
    data: {
      length: marks.inks.length / 4,
      attributes: {
        places: marks.places,
        inks: { value: marks.inks, size: 4, normalized: true },
        marks: { value: marks.marks, size: 4, normalized: true },
      },
    },
    edge,
    scale: globalThis.devicePixelRatio || 1,
  });
}
