// glass and metal balls over a chequered floor, lit by an area light: more work at some places than at others
#version 3.7;
global_settings { assumed_gamma 1.0 max_trace_level 8 }
camera { location <0, 3.5, -9> look_at <0, 0.8, 0> angle 45 }
light_source { <8, 12, -8> color rgb 1.2 area_light <2, 0, 0>, <0, 0, 2>, 4, 4 adaptive 1 jitter }
plane { y, 0 pigment { checker color rgb 0.2, color rgb 0.9 } finish { reflection 0.15 } }
#declare Seed = seed(42);
#declare K = 0;
#while (K < 40)
  sphere {
    <rand(Seed) * 8 - 4, 0.3 + rand(Seed) * 2, rand(Seed) * 6 - 2>, 0.2 + rand(Seed) * 0.3
    #if (mod(K, 3) = 0)
      pigment { color rgbt <0.9, 0.95, 1, 0.85> } interior { ior 1.5 } finish { reflection 0.1 specular 0.8 }
    #else
      pigment { color rgb <rand(Seed), rand(Seed), rand(Seed)> } finish { reflection 0.3 specular 0.5 }
    #end
  }
  #declare K = K + 1;
#end
isosurface {
  function { y - 0.4 - 0.2 * sin(x * 4) * cos(z * 4) }
  contained_by { box { <-5, 0, 1>, <5, 1, 5> } }
  max_gradient 2
  pigment { bozo color_map { [0 color rgb <0.1, 0.3, 0.1>] [1 color rgb <0.5, 0.6, 0.2>] } scale 0.3 }
}
